// `brightnet data split`: divides a data set's images into train, val and test by what they contain, and
// writes them as lists (COCO: JSON files, CSV: tables), so that images that look alike are in one split. No
// image is moved or copied.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "brightnet/data.h"
#include "data/formats/read.h"

namespace brightnet {

struct SplitReport {
  struct Part {
    Split split;
    size_t images = 0, background = 0;
    std::vector<size_t> boxes;  ///< number of boxes of each class
  };
  std::vector<std::string> classes;
  std::vector<Part> parts;
  bool similar = true;  ///< SplitOptions::similar
  /// The files of each group of several images that are kept together, largest first.
  std::vector<std::vector<std::string>> groups;
  std::string problems;  ///< the data set's problems, from summarize()
  DataOptions data;      ///< the options as given, with the written files as splits and all classes listed

  /// A table and what was kept together.
  std::string text() const;
  /// {"images", "splits": [{"split", "file", "images", "background", "boxes", "classes": [{"name",
  /// "boxes"}]}], "groups": [[file]]}
  nlohmann::json json() const;
};

/// Reads all splits that the options name as one data set, divides it by divide() and writes
/// FOLDER/train.txt, val.txt and test.txt (by format). Throws InputError for ratios that do not add up to 1,
/// a folder that is not empty, and when a split would be empty.
SplitReport split_dataset(const DataOptions& options, const SplitOptions& split_options);

}  // namespace brightnet
