#include "data/formats/voc_files.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/files.h"
#include "core/text.h"
#include "data/formats/folder.h"
#include "data/formats/layout.h"
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

LabelFile voc_labels(const VocEntry& entry, const fs::path& root) {
  if (!entry.labels.empty()) return find_label_file({entry.labels});
  fs::path beside = entry.image;
  if (!beside.empty()) beside.replace_extension(".xml");
  const std::string file = entry.name + ".xml";
  return find_label_file({beside, (root / "Annotations" / file).lexically_normal(),
                          (root / "annotations" / file).lexically_normal()});
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
    for (const Split other : given_splits(options)) {  // Annotations/ may be that of all splits
      if (other == split || listed_places(options.place(other)).size() != 1) continue;
      const fs::path folder = find_below(options.place(other), {root_});
      if (!fs::is_directory(folder, failed)) continue;
      for (const fs::path& image : images_below(folder)) {
        add(image);
        of_others_.insert(image.filename().string());
        of_others_.insert(image.stem().string());
      }
    }
  }

  /// The XML files that no image has the name of.
  std::vector<fs::path> without_image() const {
    std::vector<fs::path> found;
    for (const fs::path& folder : beside_) {
      for (const fs::path& file : files_in(folder, ".xml")) {
        if (!images_.contains(without_extension(file))) found.push_back(file);
      }
    }
    for (const char* shared : {"Annotations", "annotations"}) {
      if (beside_.contains((root_ / shared).lexically_normal())) continue;
      for (const fs::path& file : files_in((root_ / shared).lexically_normal(), ".xml")) {
        if (!stems_.contains(file.stem().string())) found.push_back(file);
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
    images_.insert(without_extension(file.lexically_normal()));
    stems_.insert(file.stem().string());
  }

  fs::path root_;
  std::set<fs::path> beside_;
  std::unordered_set<std::string> images_, stems_, of_others_;
};

}  // namespace

void match_by_filename(std::vector<VocEntry>& entries, bool all, const DataOptions& options, Split split,
                       ProblemLog& log) {
  std::unordered_map<std::string, std::vector<VocEntry*>>
      lacking;  // by file name, and by it without extension
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
      if (taker || found == lacking.end()) continue;
      for (VocEntry* entry : found->second) {
        const bool near = !folders.beside_images(xml) || folder_of(entry->image) == xml.parent_path();
        if (!taker && near && entry->labels.empty()) taker = entry;
      }
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
