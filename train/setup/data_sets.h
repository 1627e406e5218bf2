// The images of a run: what its configuration's `data:` section names.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "train/config/config.h"

namespace brightnet {

/// The data that a run trains on, of which data.fraction may leave a share, and is validated on: data.train
/// and data.val or, with data.fold, the parts of both.
struct RunData {
  Dataset training, validation;
};

/// Reads the data of a run. Throws InputError, before a long reading, when a path of either does not exist.
/// `speaks` (rank 0 only): logs their problems.
RunData read_run_data(const RunConfig& config, bool speaks = true);

/// The split of this name. Throws InputError for a word that names none.
Split parse_split(const std::string& name);

/// Reads one split: either of the two that a run has, or data.test.
Dataset read_split(const RunConfig& config, Split split, bool speaks = true);

/// The images that training sees of a split, or their tiles (data.tiles); logs the tiles' number if `speaks`.
Dataset training_images(const RunConfig& config, Dataset pictures, bool speaks = true);

/// The classes that the configuration lists, else those of its data set.
std::vector<std::string> class_names(const RunConfig& config);

}  // namespace brightnet
