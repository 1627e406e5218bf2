#include "data/formats/voc_files.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "core/files.h"
#include "core/text.h"
#include "data/formats/folder.h"
#include "data/formats/places.h"
#include "data/image/read_image.h"

namespace brightnet {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;

VocDocument::VocDocument(const fs::path& file) : file_(file), text_(read_file(file)) {
  for (size_t at = text_.find('\n'); at != std::string::npos; at = text_.find('\n', at + 1))
    line_ends_.push_back(at);
  result_ = tree_.load_buffer(text_.data(), text_.size());
}

std::string VocDocument::where(std::ptrdiff_t offset) const {
  // Lines are looked up, not counted: there may be as many objects as lines.
  const auto at = static_cast<size_t>(std::max<std::ptrdiff_t>(offset, 0));
  const auto before = std::lower_bound(line_ends_.begin(), line_ends_.end(), at) - line_ends_.begin();
  return at_line(file_, 1 + static_cast<int>(before));
}

pugi::xml_node VocDocument::annotation(ProblemLog& log) const {
  if (!result_) {
    log.add(Kind::malformed_label, where(result_.offset),
            std::string("this is not valid XML: ") + result_.description(), "Correct the file or remove it.");
    return {};
  }
  const pugi::xml_node root = tree_.child("annotation");
  if (!root) {
    log.add(Kind::malformed_label, where(0), "this XML has no <annotation> at its top",
            "Check the data's format.");
  }
  return root;
}

std::string text_of(const pugi::xml_node& node) {
  return std::string(trimmed(node.text().get()));
}

std::string filename_of(const pugi::xml_node& annotation) {
  std::string name = text_of(annotation.child("filename"));
  std::replace(name.begin(), name.end(), '\\', '/');
  return fs::path(name).filename().string();
}

namespace {

/// JPEGImages/cam1/1.jpg below the root: JPEGImages/cam1/1 and cam1/1.
std::vector<std::string> paths_below(const fs::path& image, const fs::path& root) {
  const fs::path whole = fs::absolute(image).lexically_normal().replace_extension().lexically_relative(
      without_slash(fs::absolute(root)));
  if (whole.empty() || *whole.begin() == "..") return {};
  fs::path without_first;
  for (auto part = std::next(whole.begin()); part != whole.end(); ++part) without_first /= *part;
  std::vector<std::string> paths{whole.string()};
  if (!without_first.empty()) paths.push_back(without_first.string());
  return paths;
}

}  // namespace

VocLine columns_of(const std::string& line) {
  // Names may have spaces too: the columns are parted where an image's ends and an XML's follows.
  for (size_t at = line.find_first_of(" \t"); at != std::string::npos;
       at = line.find_first_of(" \t", at + 1)) {
    const std::string image(trimmed(line.substr(0, at))), labels(trimmed(line.substr(at)));
    if (is_image_name(image) && has_extension(labels, ".xml")) return {image, labels};
  }
  return {line, ""};
}

VocEntry entry_of_image(const fs::path& image, const fs::path& root) {
  return {.name = image.stem().string(), .image = image, .paths = paths_below(image, root)};
}

void mark_ambiguous(std::vector<VocEntry>& entries, const std::vector<fs::path>& more) {
  std::unordered_map<std::string, std::set<fs::path>> by_stem;
  for (const VocEntry& entry : entries) by_stem[entry.name].insert(entry.image);
  for (const fs::path& image : more) by_stem[image.stem().string()].insert(image);
  for (VocEntry& entry : entries) {
    std::set<std::string> different;  // one image may have several paths, by links
    const std::set<fs::path>& paths = by_stem[entry.name];
    if (entry.image.empty() || paths.size() == 1) continue;
    for (const fs::path& path : paths) {
      if (!path.empty()) different.insert(without_extension(real_path(path)));
    }
    entry.ambiguous = different.size() > 1;
  }
}

std::vector<fs::path> voc_parallel_labels(const fs::path& image) {
  static constexpr std::array<FolderPair, 3> pairs{
      {{"images", "annotations"}, {"images", "Annotations"}, {"JPEGImages", "Annotations"}}};
  std::vector<fs::path> places;
  for (const FolderPair& pair : pairs) {
    fs::path labels = parallel_label(image, {&pair, 1});
    if (!labels.empty()) places.push_back(labels.replace_extension(".xml").lexically_normal());
  }
  return places;
}

std::vector<fs::path> voc_label_places(const VocEntry& entry, const fs::path& root) {
  if (!entry.labels.empty()) return {entry.labels};
  fs::path beside = entry.image;
  if (!beside.empty()) beside.replace_extension(".xml");
  std::vector<fs::path> places{beside};
  const auto add = [&](const fs::path& place) {
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
  };
  const auto add_shared = [&](const std::string& name) {
    for (const char* shared : {"Annotations", "annotations"})
      add((root / shared / (name + ".xml")).lexically_normal());
  };
  for (const std::string& path : entry.paths) add_shared(path);
  for (const fs::path& parallel : voc_parallel_labels(entry.image)) add(parallel);
  if (!entry.ambiguous) add_shared(entry.name);
  return places;
}

LabelFile voc_labels(const VocEntry& entry, const fs::path& root) {
  return find_label_file(voc_label_places(entry, root));
}

void report_shared_labels(const std::vector<VocEntry>& entries, const std::vector<VocEntry>& others,
                          const fs::path& root, ProblemLog& log) {
  std::unordered_map<std::string, const VocEntry*> by_name;
  for (const VocEntry& other : others) {
    if (!other.image.empty()) by_name.emplace(other.name, &other);
  }
  for (const VocEntry& entry : entries) {
    const auto other = by_name.find(entry.name);
    if (entry.image.empty() || other == by_name.end()) continue;
    const LabelFile labels = voc_labels(entry, root), of_other = voc_labels(*other->second, root);
    const fs::path image = other->second->image;
    if (!labels.found || labels.path != of_other.path || real_path(entry.image) == real_path(image)) continue;
    log.add(Kind::shared_labels, labels.path.string(),
            fmt::format("{} and {}", entry.image.string(), image.string()));
  }
}

namespace {

fs::path folder_of(const fs::path& image) {
  return image.lexically_normal().parent_path();
}

/// The images that a split's XML files may belong to, and the folders where these are.
class VocFolders {
 public:
  VocFolders(const std::vector<VocEntry>& entries, const DataOptions& options, Split split)
      : root_(options.root) {
    for (const VocEntry& entry : entries) beside_.insert(folder_of(entry.image));
    std::error_code failed;
    for (const fs::path& folder : beside_) {
      for (const auto& file : fs::directory_iterator(folder, failed)) add(file.path());
    }
    if (fs::is_directory(root_ / "JPEGImages", failed)) {  // a list may leave some of them out
      for (const fs::path& image : images_below(root_ / "JPEGImages")) add(image);
    }
    for (const Split other : given_splits(options)) {  // Annotations/ may be that of all splits
      if (other == split) continue;
      for (const std::string& place : listed_places(options.place(other))) {
        const fs::path folder = find_below(place, {root_});
        if (!fs::is_directory(folder, failed)) continue;
        for (const fs::path& image : images_below(folder)) {
          add(image);
          of_others_.insert(image.filename().string());
          of_others_.insert(image.stem().string());
        }
      }
    }
  }

  /// The XML files that no image has the name of.
  std::vector<fs::path> without_image() const {
    std::vector<fs::path> found;
    for (const fs::path& folder : beside_) {
      for (const fs::path& file : files_with_extension(folder, ".xml")) {
        if (!images_.contains(without_extension(file))) found.push_back(file);
      }
    }
    for (const char* shared : {"Annotations", "annotations"}) {
      if (beside_.contains((root_ / shared).lexically_normal())) continue;
      std::error_code failed;
      const fs::path folder = (root_ / shared).lexically_normal();
      if (!fs::is_directory(folder, failed)) continue;
      for (const fs::path& file : files_below(folder).others) {
        if (has_extension(file, ".xml") && !has_image(file, folder)) found.push_back(file);
      }
    }
    return found;
  }

  bool beside_images(const fs::path& xml) const { return beside_.contains(xml.parent_path()); }
  bool of_other_split(const std::string& name) const {
    return of_others_.contains(name) || of_others_.contains(fs::path(name).stem().string());
  }

 private:
  void add(const fs::path& file) {
    if (!is_image_name(file)) return;
    const std::string image = without_extension(file.lexically_normal());
    images_.insert(image);
    by_stem_[file.stem().string()].insert(image);
    for (std::string& path : paths_below(file, root_)) paths_.insert(std::move(path));
  }
  /// Whether voc_labels() gives an XML of Annotations/ to an image.
  bool has_image(const fs::path& xml, const fs::path& annotations) const {
    const fs::path name = xml.lexically_relative(annotations);
    if (paths_.contains(without_extension(name))) return true;
    const auto images = by_stem_.find(xml.stem().string());
    return !name.has_parent_path() && images != by_stem_.end() && images->second.size() == 1;
  }

  fs::path root_;
  std::set<fs::path> beside_;
  std::unordered_set<std::string> images_, paths_, of_others_;
  std::unordered_map<std::string, std::set<std::string>> by_stem_;
};

/// The one that an XML with its image's name belongs to: beside images one of its folder, elsewhere one of the same folders
/// as the XML's or the only one. Null where there is none, or several in different folders.
VocEntry* taker_of(const fs::path& xml, const std::vector<VocEntry*>& named, const VocFolders& folders,
                   const fs::path& root) {
  std::vector<VocEntry*> near, same;
  for (VocEntry* entry : named) {
    if (!entry->labels.empty()) continue;
    if (!folders.beside_images(xml) || folder_of(entry->image) == xml.parent_path()) near.push_back(entry);
  }
  const std::vector<std::string> own = paths_below(xml, root);
  for (VocEntry* entry : near) {
    if (entry->paths.size() == own.size() && !own.empty() &&
        fs::path(entry->paths.back()).parent_path() == fs::path(own.back()).parent_path())
      same.push_back(entry);
  }
  if (!same.empty()) return same.front();
  const auto other = [&](const VocEntry* entry) {
    return folder_of(entry->image) != folder_of(near.front()->image);
  };
  return near.empty() || std::any_of(near.begin(), near.end(), other) ? nullptr : near.front();
}

}  // namespace

void match_by_filename(std::vector<VocEntry>& entries, bool all, const DataOptions& options, Split split,
                       ProblemLog& log) {
  std::unordered_map<std::string, std::vector<VocEntry*>>
      lacking;  // entries without an XML, by file name with and without extension
  for (VocEntry& entry : entries) {
    if (entry.image.empty() || voc_labels(entry, options.root).found) continue;
    lacking[entry.image.filename().string()].push_back(&entry);
    lacking[entry.image.stem().string()].push_back(&entry);
  }
  if (lacking.empty() && !all) return;
  const VocFolders folders(entries, options, split);
  for (const fs::path& xml : folders.without_image()) {
    LabelledImage unused;
    if (!has_labels(find_label_file({xml}), unused, log)) continue;
    ProblemLog ignored(true);  // XML of another kind lies in many folders
    const VocDocument document(xml);
    const pugi::xml_node annotation = document.annotation(ignored);
    const std::string name = filename_of(annotation);
    VocEntry* taker = nullptr;
    for (const std::string& key : {name, fs::path(name).stem().string()}) {
      const auto found = lacking.find(key);
      if (!taker && found != lacking.end()) taker = taker_of(xml, found->second, folders, options.root);
    }
    if (taker) {
      taker->labels = xml;
    } else if (all && annotation.child("object") &&
               (folders.beside_images(xml) || !folders.of_other_split(name))) {
      log.add(Kind::unused_labels, xml.string(), "");
    }
  }
}

}  // namespace brightnet
