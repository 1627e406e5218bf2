// The formats that data sets come in. Each is defined in a file of its own, data/formats/NAME.cpp; the list
// of all is in format.cpp. Choices, messages and `data.format` follow from it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace brightnet {

struct DataOptions;
class LabelSource;

struct DatasetFormat {
  std::string name;  ///< as in data.format
  /// Opens one split: finds its images and the names of the classes. Throws InputError when there is nothing
  /// to read, or at a problem that stops the log.
  std::unique_ptr<LabelSource> (*open)(const DataOptions& options, Split split, ProblemLog& log);
  /// data.target_class_mapping belongs to it; with any other format it is an error.
  bool maps_classes = false;
  /// Whether data.train names the images of both splits, so that data.val may be empty. Null: it never does.
  bool (*train_names_both)(const DataOptions& options) = nullptr;
};

/// All formats; the first is the default.
const std::vector<DatasetFormat>& dataset_formats();

/// Their names, in the same order.
std::vector<std::string> dataset_format_names();

/// Their names in a sentence: "yolo, voc or coco".
std::string dataset_formats_listed();

/// The format of this name. Throws InputError, with the nearest name, when there is none.
const DatasetFormat& dataset_format(const std::string& name);

}  // namespace brightnet
