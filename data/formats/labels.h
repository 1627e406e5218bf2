// Shared by the readers of all formats. A reader only provides the images and their labels as written; sizes,
// clipping and all other policies are the same for every format (data/formats/policies.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>

#include "data/formats/read.h"

namespace brightnet {

/// One object as written, by its corners: in pixels, or in fractions of the image's sides
/// if LabelledImage::relative.
struct LabelledBox {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  int class_id = 0;
  bool crowd = false;
  bool difficult = false;
  bool empty = false;          ///< written with an end that is not greater than its start
  std::optional<double> area;  ///< COCO's area, if it is given
  std::string where;           ///< "file:line"
};

/// Where an image's labels are.
struct LabelFile {
  std::filesystem::path path;  ///< where the labels are; if not found, the first place searched
  bool found = false;
  std::string unreadable;  ///< why the file cannot be read; empty when it can
};

/// Searches the places in order; empty ones are skipped.
LabelFile find_label_file(const std::vector<std::filesystem::path>& places);

/// One image and its labels as written.
struct LabelledImage {
  std::filesystem::path file;
  std::string listed;  ///< ImageRecord::listed
  std::optional<int64_t> id;
  std::string missing_labels;  ///< where its label file was searched; empty when it was found
  cv::Size declared;           ///< the image size stated in the labels; empty when there is none
  bool relative = false;       ///< the boxes are fractions of the image's sides
  std::vector<LabelledBox> boxes;
};

/// The names of a folder of images and of the parallel folder with their labels.
using FolderPair = std::pair<std::string_view, std::string_view>;

/// images/a/b.jpg → labels/a/b.txt: replaces the last folder of the path that is the first of a pair by the
/// second. Empty when there is none.
std::filesystem::path parallel_label(const std::filesystem::path& image, std::span<const FolderPair> pairs);

/// True when the image's labels can be read. Otherwise sets image.missing_labels or logs why they cannot
/// be read.
bool has_labels(const LabelFile& labels, LabelledImage& image, ProblemLog& log);

/// The class names; all labels are checked against them here.
class ClassNames {
 public:
  ClassNames() = default;
  /// Throws InputError for a name that is empty or listed twice; `where` is the list's location.
  ClassNames(std::vector<std::string> names, const std::string& where);
  const std::vector<std::string>& names() const { return names_; }
  /// The id for a name or a number; logs an unknown one and returns nullopt.
  std::optional<int> find(const std::string& name, const std::string& where, ProblemLog& log) const;
  std::optional<int> check(double id, const std::string& where, ProblemLog& log) const;

 private:
  std::vector<std::string> names_;
};

/// Logs that no label of the data set names a class. Unless lenient, first logs the problems `met` while
/// searching for names, since an unreadable file is the more useful message.
void report_no_classes(const DataOptions& options, const ProblemLog& met, ProblemLog& log);

/// The images and labels of one split, read from one format.
class LabelSource {
 public:
  virtual ~LabelSource() = default;
  virtual const std::vector<std::string>& classes() const = 0;
  virtual size_t size() const = 0;
  /// Reads the labels of image `index`. Thread-safe.
  virtual LabelledImage image(size_t index, ProblemLog& log) const = 0;
};

}  // namespace brightnet
