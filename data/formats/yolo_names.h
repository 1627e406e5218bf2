// The names of the ids in YOLO's labels, where the data set has them itself. (private to data/formats/)
#pragma once

#include <filesystem>
#include <map>
#include <vector>

#include "data/formats/labels.h"

namespace brightnet {

struct YoloNames {
  struct List {
    std::filesystem::path file;
    ClassNames names;
  };

  ClassNames classes;  ///< the same in all splits: those of the root's list, or in the order of train's
  /// The names of the ids by the folder of images, for folders whose ids are not those of `classes`.
  std::map<std::filesystem::path, List> of_folder = {};
  std::filesystem::path file = {};  ///< the root's list, if it is one that folders may have too

  /// The names of the ids in an image's labels.
  const ClassNames& of(const std::filesystem::path& image) const;
  /// False, and logged, for an object whose class is in the list of the image's folder but not in the root's.
  bool knows(const LabelledBox& box, const std::filesystem::path& image, ProblemLog& log) const;
};

/// Finds the names of the ids for a split with these images. Throws InputError where they are not known.
YoloNames find_yolo_names(const DataOptions& options, Split split,
                          const std::vector<std::filesystem::path>& images);

}  // namespace brightnet
