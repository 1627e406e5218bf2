#include "data/formats/voc_layout.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/files.h"
#include "data/formats/labels.h"
#include "data/formats/layout.h"
#include "data/formats/voc_files.h"
#include "data/formats/yolo.h"

namespace brightnet {

namespace fs = std::filesystem;

namespace {

/// The years in the folder that Pascal VOC's own archives unpack to, without others beside them such as VOCcode/.
std::vector<fs::path> years_in(const fs::path& place) {
  const fs::path devkit = place / "VOCdevkit", folder = is_folder(devkit) ? devkit : place;
  std::vector<fs::path> years;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_folder(entry.path()) && entry.path().filename().string().starts_with("VOC"))
      years.push_back(entry.path());
  }
  std::sort(years.begin(), years.end());
  if (std::any_of(years.begin(), years.end(), is_voc_folder))
    std::erase_if(years, [](const fs::path& year) { return !is_voc_folder(year); });
  return years;
}

/// Sets the splits that ImageSets/Main or ImageSets has lists of; without one for train, all images are for training.
void take_lists(const fs::path& root, DataOptions& options) {
  const auto list = [&](std::vector<std::string> names) -> std::string {
    for (const char* folder : {"ImageSets/Main/", "ImageSets/"}) {
      for (const std::string& name : names) {
        const std::string path = folder + name + ".txt";
        if (is_there(root / path)) return path;
      }
    }
    return "";
  };
  options.root = root.string();
  options.train = list(split_names(Split::train));
  options.val = list(split_names(Split::val));
  options.test = list(split_names(Split::test));
  if (options.train.empty()) options.train = "JPEGImages";
}

/// Where the XML of an image may be, but for the one that the YOLO labels in labels/ beside images/ were made from: these are
/// meant.
std::vector<fs::path> own_xml_places(const fs::path& image, const fs::path& root) {
  std::vector<fs::path> found = voc_label_places(entry_of_image(image, root), root);
  const fs::path yolo = parallel_label(image);
  if (yolo.empty() || !is_folder(yolo.parent_path())) return found;
  const std::vector<fs::path> parallel = voc_parallel_labels(image);
  std::erase_if(found, [&](const fs::path& file) {
    return std::find(parallel.begin(), parallel.end(), file) != parallel.end();
  });
  return found;
}

SplitTests voc_split_tests(const fs::path& root) {
  const auto places = [=](const fs::path& image) { return own_xml_places(image, root); };
  const auto good = [=](const fs::path& folder) {
    return any_image(folder, [&](const fs::path& image) { return find_label_file(places(image)).found; });
  };
  return {.train = good, .labelled = [=](const fs::path& folder) { return any_labelled(folder, places); }};
}

void take_voc_folder(const fs::path& root, DataOptions& options) {
  take_lists(root, options);
  if (options.train == "JPEGImages")
    take_splits(root, {"JPEGImages/*"}, voc_split_tests(root).of_known_format(), options);
}

/// Takes the splits of all years together. All images of a year that has no list of any split are for training, and of one
/// that lists others than training images, as VOC2007 does whose test images alone were unpacked, none is.
std::string take_years(const std::vector<fs::path>& years, DataOptions& options) {
  std::vector<std::string> names;
  for (const fs::path& year : years) {
    const std::string name = names.emplace_back(year.filename().string());
    DataOptions own;
    take_voc_folder(year, own);
    if (own.train == "JPEGImages" && given_splits(own).size() > 1) own.train.clear();
    for (std::string DataOptions::*const key : {&DataOptions::train, &DataOptions::val, &DataOptions::test}) {
      if ((own.*key).empty()) continue;
      options.*key += ((options.*key).empty() ? "" : "\n") + name + '/' + own.*key;
    }
  }
  options.root = years[0].parent_path().string();
  return fmt::format("the Pascal VOC folders {}", fmt::join(names, " and "));
}

}  // namespace

bool is_voc_folder(const fs::path& folder) {
  std::error_code failed;
  return fs::is_directory(folder / "Annotations", failed) && fs::is_directory(folder / "JPEGImages", failed);
}

std::string recognize_voc(const fs::path& place, DataOptions& options) {
  if (!is_folder(place)) return "";
  const std::vector<fs::path> years = years_in(place);
  if (years.size() > 1 && is_voc_folder(years[0])) return take_years(years, options);
  const fs::path root = years.size() == 1 ? years[0] : place;
  if (is_voc_folder(root)) {
    take_voc_folder(root, options);
    return "a Pascal VOC folder";
  }
  const SplitTests tests = voc_split_tests(root);
  constexpr const char* divided = "folders of images with Pascal VOC's XML files";
  if (take_splits(root, {"*"}, tests, options)) return divided;
  if (is_folder(root / "images") && is_folder(root / "labels")) return "";
  for (const char* images : {"images", "."}) {
    if (!is_folder(root / images) || !tests.train(root / images)) continue;
    if (take_splits(root, {"images/*", "JPEGImages/*", "*"}, tests.of_known_format(), options))
      return divided;
    options.root = root.string();
    options.train = images;
    return "a folder of images with Pascal VOC's XML files";
  }
  return "";
}

}  // namespace brightnet
