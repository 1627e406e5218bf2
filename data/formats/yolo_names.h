// The names of the ids in YOLO's labels, where the data set has them itself. (private to data/formats/)
#pragma once

#include <filesystem>
#include <map>
#include <vector>

#include "data/formats/labels.h"

namespace brightnet {

struct YoloNames {
  ClassNames classes;  ///< the same in all splits, in the order of train's
  /// The names of the ids by the folder of images, for folders whose ids are not those of `classes`.
  std::map<std::filesystem::path, ClassNames> of_folder = {};

  /// The names of the ids in an image's labels.
  const ClassNames& of(const std::filesystem::path& image) const;
};

/// Finds the names of the ids for a split with these images. Throws InputError where they are not known.
YoloNames find_yolo_names(const DataOptions& options, Split split,
                          const std::vector<std::filesystem::path>& images);

}  // namespace brightnet
