// The images of a run: what its configuration's `data:` section names.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "train/config/config.h"

namespace brightnet {

/// What a run trains on, of which data.fraction may leave a share, and what it is validated on: data.train and data.val
/// or, with data.fold, the parts of both.
struct RunData {
  Dataset training, validation;
};

/// Throws InputError, before a long reading, when a path of either does not exist. `speaks` (rank 0 only):
/// logs their problems.
RunData read_run_data(const RunConfig& config, bool speaks = true);

/// Throws InputError for a word that is none.
Split parse_split(const std::string& name);

/// One of the two, or data.test.
Dataset read_split(const RunConfig& config, Split split, bool speaks = true);

/// What training sees of a split: its pictures, or their tiles (data.tiles), whose number is logged if `speaks`.
Dataset training_images(const RunConfig& config, Dataset pictures, bool speaks = true);

/// The classes that the configuration lists, else those of its data set.
std::vector<std::string> class_names(const RunConfig& config);

}  // namespace brightnet
