// Recognizes a data set by its place alone, without a configuration: what `--data` takes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "data/formats/read.h"

namespace brightnet {

struct RecognizedData {
  DataOptions options;  ///< paths are absolute, or relative to an absolute root
  std::string what;     ///< "an Ultralytics data.yaml"
  std::string place;    ///< place of the data set, as it was given
  std::string remark;   ///< remark for the user; may be empty

  /// Whether it has training images alone.
  bool undivided() const;
  /// Whether it has training images and no validation images, which must be taken from them then. It may have test images.
  bool lacks_validation() const;
  /// "an Ultralytics data.yaml, mine/data.yaml: train images/train, val images/val, 3 classes".
  std::string text() const;
};

/// The data set at `place`: a YAML (data/formats/data_yaml.h), a file or folder of one of the formats, a folder with
/// a data.yaml, or the places of train, val and test, separated by commas. Throws InputError, with what was looked
/// for, when it is none of these.
RecognizedData recognize_data(const std::string& place);

/// Whether the place of an undivided data set says that its images are not trained on: the file, one of the folders above
/// it, or the one folder in the folder of images has the name of validation or test images ("instances_val2017.json",
/// "valid", "images/val"), and none has that of training images.
bool names_held_back_images(const DataOptions& options);

/// The images of a folder and its subfolders, for what needs no labels: of unlabelled_format() where no data set is
/// recognized, or of YOLO's where all of them are its training images. nullopt for other places, which are
/// recognize_data()'s. Throws InputError for a folder with neither images nor a data set.
std::optional<RecognizedData> recognize_images(const std::string& place);

/// Whether this names data rather than a run's configuration: a folder, or a file that describes data.
bool is_data(const std::filesystem::path& place);

}  // namespace brightnet
