// YOLO's text labels, also used by darknet: for each image a .txt with one object per line,
// "class x y width height", class an id from 0, centre and size as fractions of the image.
//
// A label file is looked for in the parallel folder (the last "images" or "JPEGImages" of the image's path
// replaced by "labels") and then beside the image. A line with a class and three or more points, the
// segmentation form, is read as the box around the points, as in Ultralytics. Lines of seven numbers are
// reported, since they could also be a box with a score and a track id. Where data.kpt_shape, or that of the data set's
// YAML, says that key points stand behind each box, the boxes are read and the points are not.
#pragma once

#include "data/formats/labels.h"

namespace brightnet {

/// data.train, data.val or data.test is a folder of images, also in .tar archives (data/image/stored_file.h), such an
/// archive, or a file that lists images, one a line. Without data.names
/// the names come from the first of data.yaml, dataset.yaml (`names` or `classes`), classes.txt,
/// obj.names in data.root, or from classes.txt beside the images or labels. Unless a YAML names them, the ids in a folder
/// are those of its own list, and the classes are those of the root's list, or else of train's lists.
std::unique_ptr<LabelSource> open_yolo(const DataOptions& options, Split split, ProblemLog& log);

/// The names of the ids: data.names, or else `own`, the data set's own list, if there is one. data.classes chooses from
/// them by name; where it has none of them, or begins with all of them, its names replace them in their order.
ClassNames names_of_ids(const DataOptions& options, const ClassNames& own);

/// Opens text labels of the same layout for images that are listed elsewhere.
std::unique_ptr<LabelSource> open_text_labels(std::vector<std::filesystem::path> images, ClassNames classes);

/// The place where an image's labels are looked for first: the last folder called images or JPEGImages
/// replaced by labels. Empty when there is no such folder.
std::filesystem::path parallel_label(const std::filesystem::path& image);

/// The text of an image's labels: there, else beside the image.
LabelFile own_labels(const std::filesystem::path& image);

/// The images of a folder, or those that a list file names. Labels without images, and files with
/// labels but not an image's extension, are reported.
std::vector<std::filesystem::path> read_images(const std::filesystem::path& place, const DataOptions& options,
                                               ProblemLog& log);

/// The class names that a YAML lists under `names` or `classes`, or maps from their ids; none where it has neither.
ClassNames names_in_yaml(const YamlValue& root);

/// How many numbers stand behind a box with key points of this shape, Ultralytics's kpt_shape: points, and 2 or 3 numbers a
/// point (x, y and whether it is seen). 0 without a shape. Throws InputError for another shape.
size_t key_point_numbers(const std::vector<int>& shape, const std::string& where);

/// Class names, one a line.
ClassNames read_names_file(const std::filesystem::path& file);

}  // namespace brightnet
