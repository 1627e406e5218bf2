// `brightnet data convert`: a data set of any format as YOLO's folders or as COCO's JSON, for other programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/formats/read.h"

namespace brightnet {

enum class WrittenFormat : uint8_t { yolo, coco };

constexpr std::string_view enum_name(WrittenFormat format) {
  switch (format) {
    case WrittenFormat::yolo: return "yolo";
    case WrittenFormat::coco: return "coco";
  }
  return {};
}

struct ConvertOptions {
  WrittenFormat format = WrittenFormat::yolo;
  std::filesystem::path folder;  ///< is created; must not exist or must be empty
  bool copy = false;  ///< copy the images instead of creating symbolic links; those of archives are copied
};

/// Writes one split and returns what the format cannot represent (crowds and difficult objects in YOLO's; one
/// line per kind), or an empty text.
///   yolo: images/SPLIT/NAME.jpg, labels/SPLIT/NAME.txt (crowds are left out, as in training)
///   coco: images/SPLIT/NAME.jpg, annotations/instances_SPLIT.json (crowds are kept; ids count from 1)
/// NAME and its ending are the image's own, in YOLO's format those of name_by_content(); NAME is made unique in its split.
/// Boxes are those that training sees: clipped to the image, in the image as it is shown. Throws InputError when something cannot be written.
std::string convert_split(const Dataset& dataset, Split split, const ConvertOptions& options);

/// The name of an image's file, whose ending has its dot.
struct ImageName {
  std::string stem, ending;
};
/// The name by which readers of folders and archives know an image: its own, or where that does not end as an image's, all of
/// it with the ending of what it is. Throws InputError where it is none of JPEG, PNG, WebP and BMP.
ImageName name_by_content(const std::filesystem::path& image);

/// An image's labels in YOLO's format, a line an object, without crowds.
std::string yolo_labels(const ImageRecord& image);

/// Returns what YOLO's or COCO's labels cannot represent of a split, a line for each kind, or an empty text.
std::string what_is_lost(const Dataset& dataset, WrittenFormat format);

/// Writes YOLO's data.yaml with the splits and the names of the classes. COCO's JSON names them itself.
void write_names(const std::vector<std::string>& classes, const std::vector<Split>& splits,
                 const ConvertOptions& options);
/// Writes data.yaml with the splits and the names of the classes, for images in FOLDER/SPLIT.
void write_names_of_shards(const std::vector<std::string>& classes, const std::vector<Split>& splits,
                           const std::filesystem::path& folder);

/// Throws InputError where images in the folder would be found by the next reading of the data set: below a folder of its
/// images.
void check_outside(const DataOptions& data, const std::filesystem::path& folder);

/// Throws where make_empty_folder() would, as far as that can be told without making anything: before the data are read,
/// which takes long and may fail.
void check_empty_folder(const std::filesystem::path& folder);

/// Makes the folder. Throws InputError when there is something in it.
void make_empty_folder(const std::filesystem::path& folder);

}  // namespace brightnet
