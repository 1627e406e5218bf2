// The first trial of a search is the configuration itself: the values that its run has are where the search starts.
#pragma once

#include <string>
#include <vector>

#include "train/setup/preparation.h"
#include "tune/search_folder.h"

namespace brightnet {

/// Prepares the run of the first trial as `train` will, with the plan's length: on this device, and on a machine
/// that `jobs` trials share. Throws what `train` would.
Preparation prepare_first_trial(const SearchPlan& plan, const std::string& device, int jobs);

/// "key.path=value": the share of each of `jobs` trials in the machine's memory and processors, where that is
/// automatic in `asked`, the configuration that `run` was prepared from. None where there is one at a time.
std::vector<std::string> share_of_trial(const RunConfig& asked, const Preparation& run, int jobs);

}  // namespace brightnet
