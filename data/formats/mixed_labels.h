// Images with label files of different formats in one folder: YOLO's of most, and LabelMe's that somebody tried on one.
// (private to data/formats/)
#pragma once

#include <cstddef>
#include <string>

#include "data/formats/read.h"

namespace brightnet {

/// Which label files the images of a data set have. Of many images, some that are spread over all of them are looked at.
struct LabelCounts {
  size_t images = 0;                     ///< looked at; 0 where images have no label files of their own
  bool all = true;                       ///< whether these are all
  size_t own = 0;                        ///< with a label file of the data set's format
  const DatasetFormat* other = nullptr;  ///< the most frequent format of the rest; null: they have no labels
  size_t of_other = 0;                   ///< with a label file of `other` and none of the data set's format

  /// What is not read, and how it would be; empty when all is.
  std::string remark(const DatasetFormat& format) const;
};

/// Looks at the images in the folders of all splits.
LabelCounts count_labels(const DataOptions& options);

}  // namespace brightnet
