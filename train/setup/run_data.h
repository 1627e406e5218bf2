// The images of a run: what its configuration's `data:` section names.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "train/config/config.h"

namespace brightnet {

/// Reads a split and, where `speaks`, logs what was skipped in it: of several ranks one speaks.
Dataset read_split(const RunConfig& config, Split split, bool speaks = true);

/// The classes that the configuration lists, else those of its data set.
std::vector<std::string> class_names(const RunConfig& config);

}  // namespace brightnet
