#include "data/formats/coco_parts.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/files.h"
#include "core/json.h"
#include "data/formats/coco_document.h"
#include "data/formats/labels.h"
#include "data/formats/places.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// A file that is put together from images of several files, whose ids may collide.
class CocoPart {
 public:
  /// The annotations of image `id` come from add_annotation(), with the same document.
  void add_image(ParsedJson image, const ImageRecord& record) {
    const std::string file = fs::absolute(record.file).lexically_normal().string();
    const auto [known, is_new] = id_of_file_.try_emplace(file, record.id);
    int64_t& id = known->second;
    if (is_new) {
      while (!ids_.insert(id).second) id = ++largest_;
      largest_ = std::max(largest_, id);
      image["id"] = id;
      image["file_name"] = file;
      images_.push_back(std::move(image));
    }
    of_document_[record.id] = id;
  }
  bool has_image(int64_t id) const { return of_document_.contains(id); }
  void add_annotation(ParsedJson annotation, int64_t category) {
    annotation["id"] = annotations_.size() + 1;
    annotation["image_id"] = of_document_.at(annotation["image_id"].get<int64_t>());
    annotation["category_id"] = category;
    annotations_.push_back(std::move(annotation));
  }
  void end_document() { of_document_.clear(); }

  void write(const fs::path& file, const ParsedJson& categories) const {
    const ParsedJson document{{"images", images_}, {"annotations", annotations_}, {"categories", categories}};
    write_atomically(file, to_line(document) + '\n');
  }

 private:
  ParsedJson images_ = ParsedJson::array(), annotations_ = ParsedJson::array();
  std::unordered_map<std::string, int64_t> id_of_file_;
  std::set<int64_t> ids_;
  int64_t largest_ = 0;
  std::unordered_map<int64_t, int64_t> of_document_;  // new ids of the current document's images
};

/// The categories of several files, by name; ids are those of the file that named one first.
class CategoryUnion {
 public:
  int64_t id_of(int64_t id, const std::string& name) {
    const auto known = ids_.find(name);
    if (known != ids_.end()) return known->second;
    while (!taken_.insert(id).second) ++id;
    ids_[name] = id;
    list_.push_back({{"id", id}, {"name", name}});
    return id;
  }
  const ParsedJson& list() const { return list_; }

 private:
  std::map<std::string, int64_t> ids_;
  std::set<int64_t> taken_;
  ParsedJson list_ = ParsedJson::array();
};

}  // namespace

void write_coco_parts(const DataOptions& options, const std::vector<DataPart>& parts) {
  std::vector<CocoPart> written(parts.size());
  CategoryUnion categories_of_all;
  for (const Split split : given_splits(options)) {
    const fs::path file = split_file(options, split, annotations_file);
    ParsedJson document = read_coco(file);
    std::unordered_map<int64_t, ParsedJson*> images;
    std::unordered_map<std::string, int64_t> first_of_file;
    // An image may have several entries: it is read as the first.
    std::unordered_map<int64_t, int64_t> read_as;
    for (ParsedJson& image : document["images"]) {
      const int64_t id = json_integer(image, "id").value_or(0);
      images[id] = &image;
      read_as[id] = first_of_file.try_emplace(coco_file_name(image), id).first->second;
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto chosen = parts[i].images.find(split);
      if (chosen == parts[i].images.end()) continue;
      for (const ImageRecord* record : chosen->second)
        written[i].add_image(std::move(*images.at(record->id)), *record);
    }
    const std::map<int64_t, std::string> names = coco_categories(document, file);
    for (const auto& [id, name] : names) categories_of_all.id_of(id, name);
    for (ParsedJson& annotation : document["annotations"]) {
      const int64_t image = read_as.at(json_integer(annotation, "image_id").value_or(0));
      annotation["image_id"] = image;
      const int64_t category = json_integer(annotation, "category_id").value_or(0);
      for (CocoPart& part : written) {
        if (part.has_image(image))
          part.add_annotation(annotation, categories_of_all.id_of(category, names.at(category)));
      }
    }
    for (CocoPart& part : written) part.end_document();
  }
  for (size_t i = 0; i < parts.size(); ++i) written[i].write(parts[i].file, categories_of_all.list());
}

}  // namespace brightnet
