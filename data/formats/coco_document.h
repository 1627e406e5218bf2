// A COCO JSON file, read for both uses: the labels (coco.cpp) and files of a part of the images (coco_parts.cpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "data/formats/json_file.h"

namespace brightnet {

/// The document without the members named in `skip` and without the segmentations of annotations with a box. Throws
/// InputError, with file and line, when it is no JSON object.
ParsedJson parse_coco(const std::filesystem::path& file, const std::set<std::string>& skip);

/// The document with what detection needs: segmentations only of annotations without a box.
ParsedJson read_coco(const std::filesystem::path& file);

/// The list of this name; throws InputError when there is none.
const ParsedJson& coco_list(const ParsedJson& document, const char* key, const std::filesystem::path& file);

/// The names by category id, in the order of the ids. Throws InputError for one without id or name, or twice.
std::map<int64_t, std::string> coco_categories(const ParsedJson& document, const std::filesystem::path& file);

/// What the entries of one image have in common: the `file_name` without superfluous parts ("./a.jpg": "a.jpg").
std::string coco_file_name(const ParsedJson& image);

/// Whether an annotation has no box. Some programs write an empty list instead.
bool lacks_box(const ParsedJson& annotation);

}  // namespace brightnet
