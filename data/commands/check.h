// `brightnet data check`: reads all splits completely despite problems, decodes every image, and reports
// what would stop or affect training, and images that several splits have.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "data/formats/read.h"
#include "data/split/shared_images.h"

namespace brightnet {

struct CheckReport {
  struct SplitReport {
    std::string name;       ///< "train", "val" or "test"
    size_t images = 0;      ///< number of images that can be used
    size_t background = 0;  ///< number of these without an object
    size_t boxes = 0;
    size_t crowds = 0;  ///< number of the boxes that are crowds
    /// Images that have the same bytes as an earlier image of the split, each with that one.
    std::vector<std::pair<std::filesystem::path, std::filesystem::path>> copies = {};
    std::vector<DataProblem> problems;
  };
  std::vector<std::string> classes;
  std::vector<std::string> classes_without_objects;  ///< have no object in train: their outputs learn nothing
  std::vector<SplitReport> splits;
  std::vector<SharedImage> shared;  ///< images of several splits: a measured accuracy means nothing

  /// ExitCode::input when there is a problem that needs_attention(); done when there is nothing, or only what
  /// the policies mend: zero-area, outside and duplicate boxes, images without labels, turned boxes, other
  /// sizes, images of several splits.
  ExitCode exit_code() const;

  /// One paragraph per split and a conclusion.
  std::string text() const;

  /// {"ok", "classes": [name], "classes_without_objects": [name], "splits": [{"name", "images", "background", "boxes",
  /// "crowds", "copies": [{"file", "of"}], "problems": {kind: {"count", "names": [{"where", "detail"}]}}}],
  /// "in_both_splits": [file], "shared": [{"split", "file",
  /// "other_split", "other", "same": "file", "bytes" or "look", "bits"}]}; every problem is there by name.
  nlohmann::json json() const;

 private:
  /// Whether any split has a problem of a kind for which `which` holds.
  bool any(bool (*which)(DataProblem::Kind)) const;
};

/// True for the kinds that make `data check` fail: those that stop training and those that lose an image.
bool needs_attention(DataProblem::Kind kind);

/// Checks data.train and, where they are set (or where the format finds them by itself), data.val and
/// data.test. Throws InputError only for what leaves nothing to read: a missing list or folder, JSON that
/// does not parse, a format that needs a list of class names without one.
CheckReport check_dataset(const DataOptions& options);

}  // namespace brightnet
