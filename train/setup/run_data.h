// The images of a run: what its configuration's `data:` section names.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "train/config/config.h"

namespace brightnet {

/// Reads a split and, if `speaks` (rank 0 only), logs its problems.
Dataset read_split(const RunConfig& config, Split split, bool speaks = true);

/// The classes that the configuration lists, else those of its data set.
std::vector<std::string> class_names(const RunConfig& config);

}  // namespace brightnet
