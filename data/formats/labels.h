// Shared by the readers of all formats. A reader only provides the images and their labels as written; sizes,
// clipping and all other policies are the same for every format (data/formats/policies.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>

#include "data/formats/read.h"

namespace brightnet {

/// How an object was outlined.
enum class Outline : uint8_t { box, rotated_box, polygon };

/// One object as written, by its corners: in pixels, or in fractions of the image's sides
/// if LabelledImage::relative.
struct LabelledBox {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  std::string class_name;  ///< name of the class, as it is labelled
  bool crowd = false;
  bool difficult = false;
  /// Left out without a message unless data.classes or data.target_class_mapping names its class.
  bool only_if_named = false;
  bool empty = false;              ///< whether an end was written that is not greater than its start
  std::optional<double> area;      ///< COCO's area, if it is given
  Outline outline = Outline::box;  ///< the outline in the labels; only the box around it is kept
  std::string where;               ///< "file:line"

  /// Sets the corners, and whether it is empty.
  void set_corners(double left, double top, double right, double bottom);
  /// Sets the corners to those of the upright box around the points, and the outline.
  void enclose(std::span<const cv::Point2d> points);
  /// Turns it about its centre, as CVAT writes rotated rectangles: unturned, with an attribute `rotation` in degrees.
  void rotate(double degrees);
};

/// The place of an image's labels.
struct LabelFile {
  std::filesystem::path path;  ///< file with the labels; if not found, the first place searched
  bool found = false;
  std::string unreadable = {};  ///< why the file cannot be read; empty when it can
};

/// Searches the places in order; empty ones are skipped. Where none of the files is there, those with their extensions in
/// upper case are searched for.
LabelFile find_label_file(const std::vector<std::filesystem::path>& places);

/// One image and its labels as written.
struct LabelledImage {
  std::filesystem::path file;
  std::string listed;  ///< ImageRecord::listed
  std::optional<int64_t> id;
  std::string missing_labels;  ///< place where its label file was searched; empty: it was found
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

/// Class names by their ids.
class ClassNames {
 public:
  ClassNames() = default;
  /// Throws InputError for a name that is empty or listed twice; `where` is the list's location.
  ClassNames(std::vector<std::string> names, const std::string& where);
  const std::vector<std::string>& names() const { return names_; }
  /// The name of an id; logs an unknown one and returns nullptr.
  const std::string* find(double id, const std::string& where, ProblemLog& log) const;

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
  /// The classes that the data set lists, the same in all its splits; empty: those of its labels are its classes.
  virtual std::vector<std::string> classes() const { return {}; }
  virtual size_t size() const = 0;
  /// Reads the labels of image `index`. Thread-safe.
  virtual LabelledImage image(size_t index, ProblemLog& log) const = 0;
};

/// Labels in one file an image, which is read when they are asked for.
class LabelsBesideImages : public LabelSource {
 public:
  /// Finds the place of an image's labels.
  using Find = std::function<LabelFile(const std::filesystem::path& image)>;
  /// Adds what a readable file says of an image. Thread-safe.
  using Read =
      std::function<void(const std::filesystem::path& labels, LabelledImage& image, ProblemLog& log)>;

  LabelsBesideImages(std::vector<std::filesystem::path> images, Find find, Read read,
                     std::vector<std::string> classes = {})
      : images_(std::move(images)),
        find_(std::move(find)),
        read_(std::move(read)),
        classes_(std::move(classes)) {}

  std::vector<std::string> classes() const override { return classes_; }
  size_t size() const override { return images_.size(); }
  LabelledImage image(size_t index, ProblemLog& log) const override;

 private:
  std::vector<std::filesystem::path> images_;
  Find find_;
  Read read_;
  std::vector<std::string> classes_;
};

}  // namespace brightnet
