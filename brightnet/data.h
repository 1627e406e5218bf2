// Data sets as files: checked, described, drawn, divided, converted and generated. What a network is trained on is in
// dataset.h. The `config` of a Configuration may also be a data set itself. Results are logged (log.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "brightnet/answer.h"
#include "brightnet/configuration.h"
#include "brightnet/public.h"

namespace brightnet {

struct DataCheck {
  bool usable = false;  ///< training would neither stop nor lose an image
  Answer answer = {};
};

/// Decodes every image and checks every label of all splits. Throws InputError for what leaves nothing to read.
BRIGHTNET_PUBLIC DataCheck check_data(const Configuration& data);

/// Counts the images and boxes of a split (split_names()), by class and size.
BRIGHTNET_PUBLIC Answer count_data(const Configuration& data, const std::string& split);

/// Fits anchors to the training images: `count` of them, for an input of this size in pixels; 0: as many as the model has, or
/// yolov4-tiny where none is named, at the configuration's training size or, where there is none, the model's own size.
BRIGHTNET_PUBLIC Answer fit_anchors(const Configuration& data, int count = 0, int height = 0, int width = 0);

struct SampleOptions {
  std::filesystem::path folder =
      "runs/show";  ///< for the pictures; only what this function wrote there is replaced
  std::string split = "train";
  int count = 16;                     ///< 1 to 10000
  std::optional<uint64_t> seed = {};  ///< without a value: train.seed
  bool plain = false;                 ///< leaves the samples without augmentation
};

/// Draws samples as the network sees them, with their boxes, one by one and on a sheet. Throws InputError for another
/// count.
BRIGHTNET_PUBLIC void draw_samples(const Configuration& data, const SampleOptions& options = {});

/// The formats that convert_data() writes.
BRIGHTNET_PUBLIC std::vector<std::string> written_formats();

/// Writes all splits in one of written_formats(). The folder is created; it must not exist or must be empty. The images are
/// symbolic links unless `copy`.
BRIGHTNET_PUBLIC void convert_data(const Configuration& data, const std::string& format,
                                   const std::filesystem::path& folder, bool copy = false);

/// Writes all splits as .tar archives of about so many bytes, each image with its labels behind it (WebDataset's layout). The
/// folder is created; it must not exist or must be empty. What is written is a data set that every command takes.
BRIGHTNET_PUBLIC void shard_data(const Configuration& data, const std::filesystem::path& folder,
                                 uint64_t bytes);

struct SplitOptions {
  std::filesystem::path folder = {};          ///< is created; it must not exist or must be empty
  std::vector<double> ratios = {.8, .1, .1};  ///< shares of train, val and, unless left out or 0, test
  uint64_t seed = 0;
  bool similar = true;  ///< keep images together that look alike; else only files with the same bytes
};

struct DividedData {
  Answer answer = {};
  std::filesystem::path config = {};  ///< the YAML of a run on the division
  bool has_model = false;             ///< whether that YAML names a model
};

/// The files that divide_data() may write, where SplitOptions::folder is this one: lists, or tables in the data's format, and
/// the YAML of a run.
BRIGHTNET_PUBLIC std::vector<std::filesystem::path> files_of_division(const Configuration& data,
                                                                      const std::filesystem::path& folder);

/// Divides the images into train, val and test by what they contain. No image is moved or copied.
BRIGHTNET_PUBLIC DividedData divide_data(const Configuration& data, const SplitOptions& options);

struct SynthOptions {
  uint64_t seed = 0;
  int train_images = 640;
  int val_images = 160;
  int size = 256;  ///< width in pixels, 32 to 4096, and height unless that is given
  int height = 0;  ///< height in pixels; 0: as the width
  /// The typical diameter of the shapes in pixels. They have 0.7 to 1.4 times this, small ones as likely as large ones.
  /// With 0 they have a ninth to a half of the image.
  int object_size = 0;
  int classes = 6;      ///< the first so many of synth_class_names(), 1 to 6
  int min_objects = 1;  ///< the fewest objects in an image, from 0
  /// The most objects in an image, from min_objects to 1000; there are fewer where they would hide each other.
  int max_objects = 6;
};

/// Writes a data set in YOLO format:
///   FOLDER/images/{train,val}/000000.jpg ...   FOLDER/labels/{train,val}/000000.txt ...   FOLDER/data.yaml
/// data.yaml is what the `data:` section of a configuration says about it. The folder is created atomically.
/// A folder that this function created earlier is replaced. Throws InputError for another folder that is not
/// empty, for one with added files, and for options outside their ranges.
BRIGHTNET_PUBLIC void make_synthetic_dataset(const SynthOptions& options,
                                             const std::filesystem::path& folder);

}  // namespace brightnet
