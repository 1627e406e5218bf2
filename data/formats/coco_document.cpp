#include "data/formats/coco_document.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "data/formats/format.h"
#include "data/formats/labels.h"
#include "data/formats/places.h"

namespace brightnet {

namespace fs = std::filesystem;
using Json = nlohmann::json;

fs::path coco_file(const DataOptions& options, Split split) {
  const fs::path file = split_place(options, split, {data_root(options)});
  if (fs::is_directory(file)) {
    throw InputError(fmt::format("data.{} names a folder", enum_name(split)), file.string(),
                     "With data.format: coco it is the JSON file of the annotations.");
  }
  return file;
}

bool lacks_box(const Json& annotation) {
  const auto box = annotation.find("bbox");
  return box == annotation.end() || box->is_null() || (box->is_array() && box->empty());
}

Json parse_coco(const fs::path& file, const std::set<std::string>& skip) {
  const std::string text = read_file(file, most_list_bytes);
  const auto keep = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_end && !lacks_box(parsed)) parsed.erase("segmentation");
    return event != Json::parse_event_t::key || !skip.contains(parsed.get_ref<const std::string&>());
  };
  try {
    Json document = Json::parse(text, keep);
    if (document.is_object()) return document;
  } catch (const Json::parse_error& e) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(e.byte, text.size()));
    throw InputError("this is not valid JSON",
                     at_line(file, 1 + static_cast<int>(std::count(text.begin(), end, '\n'))),
                     "Check that the file is whole.");
  } catch (const Json::out_of_range& e) {  // it quotes a number beyond double's range
    const std::string message = e.what();
    const size_t begin = message.find('\'') + 1;
    const std::string number = message.substr(begin, message.rfind('\'') - begin);
    const auto at = text.begin() + static_cast<std::ptrdiff_t>(std::min(text.find(number), text.size()));
    throw InputError("the number " + number + " is too large",
                     at_line(file, 1 + static_cast<int>(std::count(text.begin(), at, '\n'))),
                     "Boxes and sizes are in pixels.");
  }
  throw InputError("an object with images, annotations and categories was expected", file.string());
}

Json read_coco(const fs::path& file) {
  Json document = parse_coco(file, {"segmentation", "licenses", "info"});
  const Json& annotations = coco_list(document, "annotations", file);
  if (std::any_of(annotations.begin(), annotations.end(), lacks_box))
    document = parse_coco(file, {"licenses", "info"});
  return document;
}

const Json& coco_list(const Json& document, const char* key, const fs::path& file) {
  const auto found = document.find(key);
  if (found == document.end() || !found->is_array()) {
    throw InputError(std::string("there is no list '") + key + "' in this file", file.string(),
                     "COCO's instances files have images, annotations and categories.");
  }
  return *found;
}

std::map<int64_t, std::string> coco_categories(const Json& document, const fs::path& file) {
  std::map<int64_t, std::string> names;
  for (const Json& category : coco_list(document, "categories", file)) {
    const auto id = coco_integer(category, "id");
    const std::string name = coco_text(category, "name");
    if (!id || name.empty()) throw InputError("a category has no id or no name", file.string());
    if (!names.emplace(*id, name).second)
      throw InputError("category id " + std::to_string(*id) + " is listed twice", file.string());
  }
  return names;
}

std::optional<double> coco_number(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::optional<int64_t> coco_integer(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int64_t>();
}

std::string coco_text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace brightnet
