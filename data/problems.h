// Problems of a data set and how each kind is handled; each kind is reported once, with a count and names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"

namespace brightnet {

/// One problem that a reader found. The table in problems.cpp has the message and handling of each kind.
struct DataProblem {
  enum class Kind {
    no_images,          ///< a split of which no image can be used
    no_labels,          ///< a split of which no image has a label file
    no_classes,         ///< nothing in the labels names a class, nor does data.classes
    missing_image,      ///< an image that is listed and not on disk
    too_large_image,    ///< an image with more pixels than data.max_pixels
    undecodable_image,  ///< an image without permission or header, or one that `data check` cannot decode
    truncated_image,    ///< an image that decodes in part
    listed_twice,  ///< an image that COCO's file lists several times, or that several splits list with other labels
    other_labels,       ///< an image with label files of its own in several splits, which differ
    unknown_ending,     ///< a file with labels, but not an image's extension (.gif, .heic)
    no_label_file,      ///< an image without a label file
    unreadable_labels,  ///< a label file is there and cannot be read
    unused_labels,      ///< yolo, darknet: labels of objects without an image
    shared_labels,      ///< voc: a label file that images of two splits have by their names
    zero_area_box,      ///< a box whose end is not greater than its start
    outside_box,        ///< a box partly or entirely outside its image
    unknown_class,      ///< a class name or id that is not in `classes`
    unmapped_class,     ///< a class of the labels that data.target_class_mapping does not name
    unlisted_class,     ///< a class that data.classes does not list, or that data.map leaves out
    malformed_label,    ///< a line or object that does not parse
    triangle,           ///< yolo, darknet: an ambiguous line of seven numbers
    polygon,            ///< an outline of another shape than a box
    rotated_box,        ///< an outline that is a box at an angle
    duplicate_box,      ///< a box that is in an image's labels twice
    turned_boxes,       ///< boxes drawn on the image before its EXIF rotation
    other_size,         ///< labels that state another image size
  };
  Kind kind;
  std::string where;   ///< "file", "file:line"
  std::string detail;  ///< one clause
};

/// The kind as a word for JSON, "missing_image".
std::string_view enum_name(DataProblem::Kind kind);

/// True for the kinds at which training refuses to start (InputError).
bool stops_training(DataProblem::Kind kind);

/// One line per kind: count, handling and the first names; empty when there are no problems.
std::string summarize(const std::vector<DataProblem>& problems);

/// Collects problems; unless lenient, throws InputError at the first that stops_training().
class ProblemLog {
 public:
  explicit ProblemLog(bool lenient) : lenient_(lenient) {}
  void add(DataProblem::Kind kind, const std::string& where, const std::string& detail,
           const std::string& remedy = "");
  const std::vector<DataProblem>& problems() const { return problems_; }
  bool lenient() const { return lenient_; }

 private:
  bool lenient_;
  std::vector<DataProblem> problems_;
};

}  // namespace brightnet
