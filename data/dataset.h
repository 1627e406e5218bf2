// A data set: images with their boxes and the class names, independent of the format it was read from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"
#include "data/problems.h"

namespace brightnet {

enum class Split : uint8_t { train, val, test };

constexpr std::string_view enum_name(Split split) {
  switch (split) {
    case Split::train: return "train";
    case Split::val: return "val";
    case Split::test: return "test";
  }
  return {};
}

/// One labelled object. The box is in pixels of the image as it is shown (EXIF rotation applied), by corners,
/// x2 and y2 exclusive; inside the image and of positive area after the policies are applied.
struct Annotation {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  int class_id = 0;
  bool crowd = false;      ///< COCO iscrowd: not trained on; matches any number of detections in evaluation
  bool difficult = false;  ///< VOC's mark, or KITTI's occlusion: ignored by the VOC metric
  float area = 0;          ///< pixels²; COCO's segmentation area where given, else the box's
};

/// The place of a tile in its picture, the whole image file (data/tiles/tiles.h), in pixels as that is shown.
struct ImageTile {
  int x = 0, y = 0, width = 0, height = 0;
  int picture_width = 0, picture_height = 0;  ///< 0: the image is no tile, but the whole picture

  explicit operator bool() const { return picture_width > 0; }
  bool whole() const { return width == picture_width && height == picture_height; }
  bool operator==(const ImageTile&) const = default;
};

/// One image. Width and height are those after EXIF rotation, of its tile if it is one.
struct ImageRecord {
  std::filesystem::path file;
  int64_t id = 0;  ///< COCO's image id; the index elsewhere
  int width = 0, height = 0;
  std::vector<Annotation> annotations;
  std::string listed{};  ///< how its format's lists or tables have it; empty: by its path
  ImageTile tile{};      ///< the part of `file` that this image is; annotations are in its pixels

  /// Whether anything can be learnt from it, or found in it: crowds are neither.
  bool has_objects() const {
    return std::any_of(annotations.begin(), annotations.end(), [](const Annotation& a) { return !a.crowd; });
  }
};

struct Dataset {
  std::vector<ImageRecord> images;
  std::vector<std::string> classes;
  std::vector<DataProblem> problems;

  /// How many objects of each class there are to learn from: all but crowds.
  std::vector<int64_t> objects_of_classes() const {
    std::vector<int64_t> objects(classes.size());
    for (const ImageRecord& image : images) {
      for (const Annotation& a : image.annotations) objects[a.class_id] += !a.crowd;
    }
    return objects;
  }
};

/// `count` of the images, or all of fewer, evenly spread: their order often says where they come from.
inline Dataset evenly_spread(const Dataset& dataset, int64_t count) {
  Dataset part;
  part.classes = dataset.classes;
  const int64_t all = std::ssize(dataset.images), wanted = std::min(all, count);
  for (int64_t i = 0; i < wanted; ++i) part.images.push_back(dataset.images[i * all / wanted]);
  return part;
}

}  // namespace brightnet
