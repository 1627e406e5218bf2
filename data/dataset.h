// A dataset is a list of images with their boxes and the names of the classes, whatever format it came from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config.h"

namespace brightnet {

/// The `data:` section of a configuration.
struct DataOptions {
  std::string format = "yolo";  ///< yolo | voc | coco | darknet | kitti
  std::string root = ".";       ///< folder that relative paths below start from
  std::string train;            ///< list file, image folder, or COCO JSON, by format
  std::string val;
  std::vector<std::string> classes;  ///< empty: taken from the data set where it names them
  std::map<std::string, std::string>
      target_class_mapping;                   ///< kitti: what labels say → class; empty: the same
  bool include_difficult_in_training = true;  ///< train on what is marked difficult (voc) or occluded (kitti)
  void fields(Fields& f);
};

/// One labelled object. The box is in pixels of the image as it is shown (EXIF rotation applied), by corners,
/// x2 and y2 exclusive; inside the image and of positive area once a reader has applied the policies.
struct Annotation {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  int class_id = 0;
  bool crowd = false;      ///< COCO iscrowd: not trained on; matches any number of detections in evaluation
  bool difficult = false;  ///< VOC's mark, or KITTI's occlusion: ignored by the VOC metric
  float area = 0;          ///< pixels²; COCO's segmentation area where given, else the box's
};

/// One image. Width and height are those after EXIF rotation.
struct ImageRecord {
  std::filesystem::path file;
  int64_t id = 0;  ///< COCO's image id; the index elsewhere
  int width = 0, height = 0;
  std::vector<Annotation> annotations;
};

/// What a reader met and what it did about it, each kind counted and reported once, with names.
struct DataProblem {
  enum class Kind {
    no_images,          ///< a split of which no image can be used: stops reading (InputError)
    no_labels,          ///< a split of which no image has a label file: stops reading (InputError)
    no_classes,         ///< nothing in the labels names a class, nor does anybody else: stops (InputError)
    missing_image,      ///< listed, not on disk: the image is skipped
    undecodable_image,  ///< no permission, no header, or `data check` could not decode it: skipped
    unknown_ending,     ///< has labels, and an ending that is no image's (.gif, .heic): not read
    truncated_image,    ///< decodes in part: skipped
    no_label_file,      ///< an image without one is kept as background
    unused_labels,      ///< yolo, darknet: labels of objects without an image: not used
    unreadable_labels,  ///< a label file is there and cannot be read: stops reading (InputError)
    zero_area_box,      ///< dropped
    outside_box,        ///< clipped to the image; dropped when nothing is left
    unknown_class,      ///< a class name or id that is not in `classes`: stops reading (InputError)
    unmapped_class,     ///< a label that target_class_mapping does not name: dropped
    malformed_label,    ///< a line or object that does not parse: stops reading (InputError) with file:line
    triangle,           ///< yolo, darknet: a line of seven numbers, read as a class and three points
    duplicate_box,      ///< the same object twice: kept once
    turned_boxes,       ///< drawn on the image before its EXIF rotation: turned with it
    other_size,         ///< the labels claim another size for the image: the image's own counts
  };
  Kind kind;
  std::string where;   ///< "file", "file:line"
  std::string detail;  ///< one clause
};

/// The kind as a word for JSON, "missing_image".
const char* problem_name(DataProblem::Kind kind);

/// True for the kinds at which training refuses to start, above "stops".
bool stops_training(DataProblem::Kind kind);

/// Decodes an image in full and says what is wrong with it; nullopt when it can be used.
std::optional<DataProblem> decoding_problem(const std::filesystem::path& file);

struct Dataset {
  std::vector<ImageRecord> images;
  std::vector<std::string> classes;
  std::vector<DataProblem> problems;
};

enum class Split { train, val };

/// Throws InputError when data.train or data.val names nothing, or nothing that is there: at once, where
/// reading the one would take long before the other is looked for.
void check_place(const DataOptions& options, Split split);

/// Reads one split. With `lenient` (for `data check`) nothing stops the reading: every problem is collected.
/// Throws InputError: unknown format or missing list; unless lenient, also at a problem that
/// stops_training().
Dataset read_dataset(const DataOptions& options, Split split, bool lenient = false);

/// One line a kind, with the count, what was done about it and the first names; empty when there is nothing.
std::string summarize(const std::vector<DataProblem>& problems);

}  // namespace brightnet
