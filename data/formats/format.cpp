#include "data/formats/format.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "core/error.h"

namespace brightnet {

DatasetFormat yolo_format();
DatasetFormat voc_format();
DatasetFormat coco_format();
DatasetFormat darknet_format();
DatasetFormat kitti_format();
DatasetFormat csv_format();

const std::vector<DatasetFormat>& dataset_formats() {
  static const std::vector<DatasetFormat> formats{yolo_format(),    voc_format(),   coco_format(),
                                                  darknet_format(), kitti_format(), csv_format()};
  return formats;
}

std::vector<std::string> dataset_format_names() {
  std::vector<std::string> names;
  for (const DatasetFormat& format : dataset_formats()) names.push_back(format.name);
  return names;
}

std::string dataset_formats_listed() {
  const std::vector<std::string> names = dataset_format_names();
  return fmt::format("{} or {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

const DatasetFormat& dataset_format(const std::string& name) {
  const auto& formats = dataset_formats();
  const auto found = std::find_if(formats.begin(), formats.end(),
                                  [&](const DatasetFormat& format) { return format.name == name; });
  if (found != formats.end()) return *found;
  const std::string nearest = nearest_word(name, dataset_format_names());
  throw InputError(fmt::format("data.format is '{}' and must be {}", name, dataset_formats_listed()), "",
                   nearest.empty() ? "" : "Did you mean '" + nearest + "'?");
}

}  // namespace brightnet
