// The image and category ids in COCO's results format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "detect/sources/source.h"

namespace brightnet {

class CocoIds {
 public:
  /// Chooses ids without a file of annotations. An image's id is the number that its file is called by (000000000139.jpg
  /// is 139) when that holds for all files of the source and no two have the same; else, and for frames of
  /// videos, its place among what the source hands out, from 1. A category's id is COCO's own when the
  /// classes are COCO's 80 in their usual order; else the class's, from 1.
  CocoIds(const std::vector<std::filesystem::path>& files, const std::vector<std::string>& class_names);

  /// The ids in a file of annotations: images by their file's name, of several with the same name by the folders before it,
  /// categories by theirs. Throws InputError when the file is not COCO's, or lacks one of the classes.
  CocoIds(const std::filesystem::path& annotations, const std::vector<std::string>& class_names);

  /// The id of an image. With annotations, throws InputError for a video, for an image that they do not have, and for one
  /// of which they do not say which of several it is.
  int64_t image(const Frame& frame) const;
  /// The size that the annotations state for an image; empty where they state none, or there are none. Throws as image().
  cv::Size stated_size(const Frame& frame) const;
  int64_t category(int class_id) const { return categories_[class_id]; }

 private:
  struct AnnotatedImage {
    std::filesystem::path file_name;  // name or path of the image as the annotations have it
    int64_t id = 0;
    cv::Size size;  // as the annotations state it; empty: they do not
  };

  const AnnotatedImage& annotated(const Frame& frame) const;
  /// Places in `annotated_`.
  using Places = std::vector<size_t>;
  /// Throws InputError unless one of the images of this file's name fits it better than the others.
  const AnnotatedImage& best_fit(const Places& namesakes, const std::string& file) const;
  /// The images whose file_name is the longest ending of a file's path; nullptr where none is one.
  const Places* with_longest_ending(const std::string& file) const;

  std::filesystem::path annotations_;      // empty: none
  std::map<std::string, int64_t> images_;  // ids without annotations, by the file's path
  std::vector<AnnotatedImage> annotated_;
  std::map<std::string, Places> of_name_;  // by the file's name without folders
  // By the file_name, made normal: video data sets have one name in a hundred thousand folders.
  std::map<std::string, Places> of_path_;
  std::vector<int64_t> categories_;
};

}  // namespace brightnet
