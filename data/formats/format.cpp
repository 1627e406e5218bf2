#include "data/formats/format.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "core/error.h"
#include "core/files.h"
#include "data/formats/read.h"

namespace brightnet {

namespace fs = std::filesystem;

DatasetFormat yolo_format();
DatasetFormat voc_format();
DatasetFormat coco_format();
DatasetFormat darknet_format();
DatasetFormat kitti_format();
DatasetFormat csv_format();
DatasetFormat via_format();
DatasetFormat createml_format();
DatasetFormat datumaro_format();
DatasetFormat supervisely_format();
DatasetFormat labelme_format();

const std::vector<DatasetFormat>& dataset_formats() {
  static const std::vector<DatasetFormat> formats{yolo_format(),        voc_format(),      coco_format(),
                                                  darknet_format(),     kitti_format(),    csv_format(),
                                                  via_format(),         createml_format(), datumaro_format(),
                                                  supervisely_format(), labelme_format()};
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

void write_parts(const DataOptions& options, const std::vector<DataPart>& parts) {
  if (options.format->write_parts) return options.format->write_parts(options, parts);
  for (const DataPart& part : parts) {
    std::string list;
    for (const auto& [split, images] : part.images) {
      for (const ImageRecord* image : images) {
        const std::string line =
            image->listed.empty() ? fs::absolute(image->file).lexically_normal().string() : image->listed;
        if (line.find_first_of("\r\n") != std::string::npos) {
          throw InputError(
              "the name of this image or of its labels has a line break, and a list has one image a line",
              line, "Rename the image or the labels.");
        }
        list += line + '\n';
      }
    }
    write_atomically(part.file, list);
  }
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
