// The runs that --out has put elsewhere than runs/NAME, so that `train --resume` finds them: a list in the
// user's cache folder, by the place where they would have been. It is a convenience: where it cannot be read
// or written, --resume needs the folder's name.
#pragma once

#include <filesystem>
#include <vector>

#include "train/run/run_folder.h"

namespace brightnet {

/// The runs that were put elsewhere than `usual`, and that can be resumed or begun again.
std::vector<RunFolder> listed_runs(const std::filesystem::path& usual);

/// In the environment of a process whose runs are not listed: nobody resumes a search's trial by its configuration.
inline constexpr const char* unlisted_variable = "BRIGHTNET_UNLISTED";

/// Adds a run. The list keeps 200 that still exist: those without a saved state make room first, then the oldest.
void list_run(const std::filesystem::path& usual, const RunFolder& folder);

}  // namespace brightnet
