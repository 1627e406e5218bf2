// Reading a data set: the options that say where and in which format it is, and one call that reads a split.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "core/config.h"
#include "data/dataset.h"
#include "data/fold.h"
#include "data/formats/format.h"
#include "data/image/read_image.h"
#include "data/tiles/tiles.h"

namespace brightnet {

/// The `data:` section of a configuration.
struct DataOptions {
  /// The format, one of dataset_formats().
  const DatasetFormat* format = &dataset_formats().front();
  std::string root = ".";  ///< folder that relative paths below start from
  std::string train;       ///< a list file, image folder, COCO JSON, …, by format
  std::string val;
  std::string test;                  ///< never seen by a training; for `eval --split test`
  std::vector<std::string> classes;  ///< classes to train on; empty: all of the data set
  std::vector<std::string> names;    ///< names of ids in text labels; empty: the data set's, else `classes`
  /// The shape of the key points behind each box in YOLO's labels, {17, 3}; empty: the data set's own.
  std::vector<int> kpt_shape;
  /// Renames classes of the labels for training; "": left out. Classes that it does not name stay.
  std::map<std::string, std::string> map;
  /// TAO's key for `map`: case does not matter, and classes that it does not name are left out.
  std::map<std::string, std::string> target_class_mapping;
  bool single_class = false;  ///< all classes become one
  Fold fold;           ///< divides train and val anew (data/split/fold.h); none: they are used as they are
  float fraction = 1;  ///< share of the training images that is trained on (train/setup/data_sets.h)
  bool include_difficult_in_training = true;  ///< objects marked difficult (voc) or occluded (kitti)
  /// Training images are cut into tiles, and detections in tiles merged for an evaluation.
  TileOptions tiles;
  uint64_t max_pixels = usual_max_pixels;  ///< pixels of an image above which it is skipped
  bool takes_settings = true;              ///< the command has --set, so that an error may advise it; no key
  void fields(Fields& f);

  /// `train`, `val` or `test`.
  const std::string& place(Split split) const;
};

/// The splits that the options name: train, and val and test where they are set or data.train names them too.
std::vector<Split> given_splits(const DataOptions& options);

/// Throws InputError when data.train, data.val or data.test is not set or does not exist. Called for the
/// splits before any is read, which may take long.
void check_place(const DataOptions& options, Split split);

/// Reads one split. Throws InputError for a missing list and, unless `lenient` (for `data check`, which
/// collects every problem), at the first problem that stops_training().
Dataset read_dataset(const DataOptions& options, Split split, bool lenient = false);

/// The classes of a data set, without reading its images.
std::vector<std::string> read_class_names(const DataOptions& options);

/// Decodes an image of at most `max_pixels` in full and returns what is wrong with it; nullopt when it is usable.
/// `use` is called with the pixels of one that is.
std::optional<DataProblem> decoding_problem(const std::filesystem::path& file, uint64_t max_pixels,
                                            const std::function<void(const cv::Mat&)>& use = {});

}  // namespace brightnet
