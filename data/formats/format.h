// The supported data set formats. Each is defined in data/formats/NAME.cpp; format.cpp lists them all.
// Choices, messages and `data.format` follow from that list.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace brightnet {

struct DataOptions;
class LabelSource;

/// Images of a data set that become a split of their own.
struct DataPart {
  std::filesystem::path file;  ///< the file to write
  /// The images, by the split that they come from; one with labels of several splits is there for each.
  std::map<Split, std::vector<const ImageRecord*>> images;
};

struct DatasetFormat {
  std::string name;  ///< the format's name, as data.format has it
  /// Opens one split: finds its images and the names of the classes. Throws InputError when there is nothing
  /// to read, or at a problem that stops the log.
  std::unique_ptr<LabelSource> (*open)(const DataOptions& options, Split split, ProblemLog& log);
  /// Whether data.train names the images of this other split too, so that its own key may be empty. Null: it
  /// never does.
  bool (*train_names)(Split split, const DataOptions& options) = nullptr;
  /// The names of the ids in the labels where data.train's own file says them, which a list of images in its place does not.
  /// Null: it never does.
  std::vector<std::string> (*names_of_train)(const DataOptions& options) = nullptr;
  /// Whether the key of a split may be a list of places.
  bool several_places = false;
  /// The extension of the files that `data split` writes for data.train and the like; empty: it cannot write them.
  std::string written_extension = ".txt";
  /// Writes such files for `data split`. Null: the files are lists with a line for each image.
  void (*write_parts)(const DataOptions& options, const std::vector<DataPart>& parts) = nullptr;
  /// Whether the files that `data split` writes are lists of images: their labels are not written again.
  bool writes_lists() const { return !written_extension.empty() && !write_parts; }
  /// Recognizes a data set that is named by its place alone (data/formats/recognize.h). If the file or folder, an
  /// absolute path, is of this format, fills in the root and the splits that are there, and returns what it is,
  /// such as "a Pascal VOC folder". Otherwise returns "".
  std::string (*recognize)(const std::filesystem::path& place, DataOptions& options) = nullptr;
  /// The layout that recognize() looks for: "a folder with Annotations/ and JPEGImages/".
  std::string recognized_by;
  /// Whether an image of a data set with this root has a label file of its own in this format. Null: the format's labels lie
  /// in one file, or in folders that no other format has.
  bool (*labelled)(const std::filesystem::path& image, const std::filesystem::path& root) = nullptr;
  /// These files in messages: "YOLO's .txt".
  std::string label_files = "";
};

/// All formats; the first is the default.
const std::vector<DatasetFormat>& dataset_formats();

/// The names of dataset_formats(), in the same order.
std::vector<std::string> dataset_format_names();

/// The names of dataset_formats() in a sentence: "yolo, voc or coco".
std::string dataset_formats_listed();

/// The images of a folder, whose labels are not read. None of dataset_formats(): nothing is trained on it.
const DatasetFormat& unlabelled_format();

/// Writes the parts in the data set's format, without the images: their paths there are absolute, or the
/// names by which the format finds them below data.root. Throws InputError when a file cannot be written.
void write_parts(const DataOptions& options, const std::vector<DataPart>& parts);

/// The format of this name. Throws InputError, with the nearest name, when there is none.
const DatasetFormat& dataset_format(const std::string& name);

}  // namespace brightnet
