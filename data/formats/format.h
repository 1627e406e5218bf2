// The supported data set formats. Each is defined in data/formats/NAME.cpp; format.cpp lists them all.
// Choices, messages and `data.format` follow from that list.
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
  /// Whether data.target_class_mapping is supported; with any other format it is an error.
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
