#include "data/formats/recognize.h"

#include "core/error.h"

namespace brightnet {

namespace fs = std::filesystem;

DataOptions recognize_dataset(const fs::path& folder) {
  const auto has = [&](const char* name) {
    std::error_code failed;
    return fs::is_directory(folder / name, failed);
  };
  DataOptions options;
  fs::path root = fs::absolute(folder).lexically_normal();
  if (!root.has_filename()) root = root.parent_path();  // "folder/"
  options.root = root.string();
  if (!has("."))
    throw InputError("this is not a folder", folder.string(), "Name a folder with images and labels.");
  const auto take = [&](const char* format, const char* images) {
    options.format = &dataset_format(format);
    options.train = images;
  };
  if (has("Annotations") && has("JPEGImages")) {
    take("voc", "JPEGImages");
  } else if (has("image_2") && has("label_2")) {
    take("kitti", "image_2");
  } else if (has("training/image_2") && has("training/label_2")) {
    take("kitti", "training/image_2");
  } else {
    take("yolo", has("images") && has("labels") ? "images" : ".");
  }
  return options;
}

}  // namespace brightnet
