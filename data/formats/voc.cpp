// Pascal VOC: Annotations/NAME.xml and JPEGImages/NAME.jpg below the root, and lists of NAMEs.
//
// VOC counts pixels from 1 and includes both ends, so pixels xmin … xmax cover [xmin − 1, xmax] of the image
// (VOC2012 development kit; Detectron2 reads it so too). An object whose end is not greater than its start,
// as written, is a zero-area box.
//
// data.train, data.val or data.test is a list of names, as it stands or below ImageSets/Main (a second
// column, the flag of VOC's lists by class, is ignored; a line may also be the path of an image, absolute or below
// JPEGImages or the root, which that of its XML may follow), or
// a folder of images with the XML files beside them, in Annotations or in annotations, where they may lie in the same
// folders as the images; or several of these. What lies in a folder of its own with Annotations and JPEGImages, as each
// year does in VOCdevkit, has that as its root. Without data.classes the classes are
// all names in train and val, sorted.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "data/formats/folder.h"
#include "data/formats/format.h"
#include "data/formats/labels.h"
#include "data/formats/places.h"
#include "data/formats/voc_files.h"
#include "data/formats/voc_layout.h"
#include "data/image/read_image.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;

std::optional<LabelledBox> voc_box(const pugi::xml_node& object, const VocDocument& document,
                                   ProblemLog& log) {
  const pugi::xml_node name = object.child("name");
  const std::string where = document.where(name ? name : object);
  if (!name) {
    log.add(Kind::malformed_label, where, "this <object> has no <name>");
    return std::nullopt;
  }
  const std::string class_name = text_of(name);
  if (class_name.empty()) {
    log.add(Kind::malformed_label, where, "the <name> of this <object> is empty");
    return std::nullopt;
  }
  LabelledBox box;
  box.class_name = class_name;
  box.where = where;
  box.difficult = text_of(object.child("difficult")) == "1";
  const pugi::xml_node corners = object.child("bndbox");
  const char* const keys[] = {"xmin", "ymin", "xmax", "ymax"};
  double values[4];
  for (int i = 0; i < 4; ++i) {
    const pugi::xml_node corner = corners.child(keys[i]);
    const auto value = parse_number(corner.text().get());
    if (!value) {
      const std::string place = document.where(corner ? corner : corners ? corners : object);
      log.add(Kind::malformed_label, place,
              corner ? std::string("<") + keys[i] + "> is '" + text_of(corner) + "' and must be a number"
                     : std::string("this object has no <bndbox> with <") + keys[i] + ">");
      return std::nullopt;
    }
    values[i] = *value;
  }
  box.set_corners(values[0] - 1, values[1] - 1, values[2], values[3]);
  box.empty = !(values[2] > values[0] && values[3] > values[1]);  // as written
  for (const auto& attribute : object.child("attributes").children("attribute")) {
    if (text_of(attribute.child("name")) == "rotation")
      box.rotate(parse_number(text_of(attribute.child("value"))).value_or(0));
  }
  return box;
}

// The images of JPEGImages by relative path without extension; of several with one name, the first.
class ImageFolder {
 public:
  explicit ImageFolder(const fs::path& folder) : folder_(folder) {
    std::error_code failed;
    if (!fs::is_directory(folder, failed)) return;
    for (const auto& file : images_below(folder))
      by_name_.emplace(without_extension(file.lexically_relative(folder)), file);
  }

  std::optional<fs::path> find(const std::string& name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return std::nullopt;
    return found->second;
  }
  /// Where an image of this name is expected, for messages.
  fs::path expected(const std::string& name) const { return folder_ / (name + ".jpg"); }

 private:
  fs::path folder_;
  std::unordered_map<std::string, fs::path> by_name_;
};

// Whether an image or an XML file has the whole line as its name.
bool is_name_of_file(const std::string& line, const fs::path& root, const ImageFolder& images) {
  return images.find(fs::path(line).lexically_normal().string()) ||
         find_label_file({root / "Annotations" / (line + ".xml"), root / "annotations" / (line + ".xml")})
             .found;
}

// The name that a line of a list gives: "NAME", or "NAME -1" in VOC's lists by class. If a name itself ends in a
// number, its files decide.
std::string name_of_line(const std::string& line, const fs::path& root, const ImageFolder& images) {
  for (const std::string_view flag : {"-1", "0", "1"}) {
    if (!line.ends_with(flag) || line.size() == flag.size()) continue;
    const std::string_view before = std::string_view(line).substr(0, line.size() - flag.size());
    const std::string_view name = trimmed(before);
    if (name.empty() || name.size() == before.size()) continue;
    if (!is_name_of_file(line, root, images)) return std::string(name);
  }
  const fs::path path(line);
  return is_image_name(path) || has_extension(path, ".xml") ? without_extension(path) : line;
}

// A name with folders is that of an image below JPEGImages or the root. A path of another place, as lists that were moved
// have, counts by its last part.
VocEntry entry_of_image_line(const std::string& line, const fs::path& root, const ImageFolder& images) {
  const fs::path path(line);
  std::error_code failed;
  if (path.is_absolute() && is_image_name(path) && fs::exists(path, failed))
    return entry_of_image(path, root);
  const fs::path name = fs::path(name_of_line(line, root, images)).lexically_normal();
  if (!name.has_parent_path()) return {name.string(), {}};
  if (const auto image = images.find(name.string())) return entry_of_image(*image, root);
  if (is_image_name(path) && fs::exists(root / path, failed))
    return entry_of_image((root / path).lexically_normal(), root);
  const bool in_folder =
      path.is_relative() && fs::is_directory(root / "JPEGImages" / name.parent_path(), failed);
  const bool names_file = is_image_name(path) || has_extension(path, ".xml");
  return {!in_folder && names_file ? name.filename().string() : name.string(), {}};
}

// Of an image and its XML, as PaddleDetection lists them, the XML is found like that of other images where it is not there.
VocEntry entry_of_line(const std::string& line, const fs::path& root, const ImageFolder& images) {
  const VocLine columns = columns_of(line);
  VocEntry entry = entry_of_image_line(columns.image, root, images);
  const fs::path labels = columns.labels.empty() ? fs::path() : find_below(columns.labels, {root});
  std::error_code failed;
  if (!labels.empty() && fs::exists(labels, failed)) entry.labels = labels.lexically_normal();
  return entry;
}

/// The places of a split, there or not.
std::vector<fs::path> places_of(const DataOptions& options, Split split) {
  const fs::path root = options.root, lists = root / "ImageSets/Main";
  std::error_code failed;
  std::vector<fs::path> places;
  for (const std::string& path : listed_places(options.place(split))) {
    const fs::path place = find_below(path, {root, lists}), short_form = lists / (path + ".txt");
    places.push_back(!fs::exists(place, failed) && fs::exists(short_form, failed) ? short_form : place);
  }
  return places;
}

/// The folder with Annotations/ and JPEGImages/ in data.root that a place lies in, such as that of one year in VOCdevkit/, of
/// several the innermost; data.root where there is none.
fs::path root_of(const fs::path& place, const fs::path& data_root) {
  fs::path folder = without_slash(fs::absolute(data_root)), root = data_root;
  const fs::path inside = fs::absolute(place).lexically_normal().lexically_relative(folder);
  if (inside.empty() || *inside.begin() == "..") return root;
  for (auto part = inside.begin(); std::next(part) != inside.end(); ++part) {
    folder /= *part;
    if (is_voc_folder(folder)) root = folder;
  }
  return root;
}

/// The options for a root with those places alone that belong to it.
DataOptions options_of_root(const DataOptions& options, const fs::path& root) {
  const auto own = [&](Split split) {
    std::vector<std::string> places;
    for (const fs::path& place : places_of(options, split)) {
      if (root_of(place, options.root) == root) places.push_back(fs::absolute(place).string());
    }
    return fmt::format("{}", fmt::join(places, "\n"));
  };
  DataOptions of_root = options;
  of_root.root = root.string();
  of_root.train = own(Split::train);
  of_root.val = own(Split::val);
  of_root.test = own(Split::test);
  return of_root;
}

std::vector<VocEntry> entries_of(const std::vector<fs::path>& places, const fs::path& root,
                                 const ImageFolder& images, ProblemLog& log) {
  std::error_code failed;
  std::vector<VocEntry> entries;
  bool lists_path = false;
  for (const fs::path& place : places) {
    if (fs::is_directory(place, failed)) {
      const FolderFiles files = files_below(place);
      const auto entry = [&](const fs::path& file) { return entry_of_image(file, root); };
      report_unknown_endings(
          files, [&](const fs::path& file) { return voc_labels(entry(file), root); }, log);
      for (const auto& image : files.images) entries.push_back(entry(image));
      continue;
    }
    for (const TextLine& line : read_lines(place, most_list_bytes)) {
      entries.push_back(entry_of_line(line.text, root, images));
      lists_path = lists_path || !entries.back().image.empty();
    }
  }
  const bool below = lists_path && fs::is_directory(root / "JPEGImages", failed);
  mark_ambiguous(entries, below ? images_below(root / "JPEGImages") : std::vector<fs::path>());
  return entries;
}

/// `options`: those of the root.
std::vector<VocEntry> read_entries(const DataOptions& options, Split split, const ImageFolder& images,
                                   ProblemLog& log) {
  const std::vector<fs::path> places = places_of(options, split);
  std::vector<VocEntry> entries = entries_of(places, options.root, images, log);
  const bool folders = std::all_of(places.begin(), places.end(), [](const fs::path& place) {
    std::error_code failed;
    return fs::is_directory(place, failed);
  });
  match_by_filename(entries, folders, options, split, log);
  // Names of a list are those of one image and one label file; only images by their paths can share one.
  if (std::all_of(entries.begin(), entries.end(), [](const VocEntry& entry) { return entry.image.empty(); }))
    return entries;
  for (const Split other : given_splits(options)) {
    if (other == split) continue;
    ProblemLog ignored(true);  // what is wrong with another split is reported when that is read
    try {
      const std::vector<VocEntry> others =
          entries_of(places_of(options, other), options.root, images, ignored);
      report_shared_labels(entries, others, options.root, log);
    } catch (const InputError&) {
    }
  }
  return entries;
}

std::string whole_path(const fs::path& file) {
  return fs::absolute(file).lexically_normal().string();
}

/// The images of one root.
class VocLabels : public LabelSource {
 public:
  /// `options`: those of the root; `by_name`: whether data.root finds its images by their names.
  VocLabels(const DataOptions& options, Split split, bool by_name, ProblemLog& log)
      : root_(options.root),
        by_name_(by_name),
        images_(root_ / "JPEGImages"),
        entries_(read_entries(options, split, images_, log)) {}

  size_t size() const override { return entries_.size(); }

  LabelledImage image(size_t index, ProblemLog& log) const override {
    const VocEntry& entry = entries_[index];
    LabelledImage out;
    out.file =
        entry.image.empty() ? images_.find(entry.name).value_or(images_.expected(entry.name)) : entry.image;
    if (entry.image.empty() && by_name_) out.listed = entry.name;
    const LabelFile labels = voc_labels(entry, root_);
    if (!has_labels(labels, out, log)) return out;
    const VocDocument document(labels.path);
    const pugi::xml_node annotation = document.annotation(log);
    // The image with the XML's name is preferred: <filename> is often outdated by a renaming.
    std::error_code failed;
    if (!fs::exists(out.file, failed)) {
      const std::string named = without_extension(text_of(annotation.child("filename")));
      if (const auto other = images_.find(named)) out.file = *other;
    }
    // By the image alone, another XML may be found, or none.
    if (!entry.labels.empty()) out.listed = whole_path(out.file) + ' ' + whole_path(entry.labels);
    const pugi::xml_node size = annotation.child("size");
    out.declared = {size.child("width").text().as_int(), size.child("height").text().as_int()};
    for (const auto& object : annotation.children("object")) {
      if (auto box = voc_box(object, document, log)) out.boxes.push_back(std::move(*box));
    }
    return out;
  }

 private:
  fs::path root_;
  bool by_name_;
  ImageFolder images_;
  std::vector<VocEntry> entries_;
};

/// The images of several roots, one after another: those of one name in two roots are different ones.
class JoinedVocLabels : public LabelSource {
 public:
  explicit JoinedVocLabels(std::vector<VocLabels> parts) : parts_(std::move(parts)) {}

  size_t size() const override {
    size_t images = 0;
    for (const VocLabels& part : parts_) images += part.size();
    return images;
  }
  LabelledImage image(size_t index, ProblemLog& log) const override {
    size_t part = 0;
    for (; index >= parts_[part].size(); ++part) index -= parts_[part].size();
    return parts_[part].image(index, log);
  }

 private:
  std::vector<VocLabels> parts_;
};

std::unique_ptr<LabelSource> open_voc(const DataOptions& options, Split split, ProblemLog& log) {
  const fs::path root = data_root(options);
  split_path(options, split);  // throws where there is none
  std::vector<fs::path> roots;
  for (const fs::path& place : places_of(options, split)) {
    check_exists(place, split);
    fs::path own = root_of(place, root);
    if (std::find(roots.begin(), roots.end(), own) == roots.end()) roots.push_back(std::move(own));
  }
  std::vector<VocLabels> parts;
  for (const fs::path& own : roots)
    parts.emplace_back(options_of_root(options, own), split, own == root, log);
  return std::make_unique<JoinedVocLabels>(std::move(parts));
}

/// Whether an image has an XML, and this is VOC's: cameras write some beside their pictures too.
bool has_voc_file(const fs::path& image, const fs::path& root) {
  const LabelFile labels = voc_labels(entry_of_image(image, root), root);
  if (!labels.found) return false;
  std::ifstream in = open_regular(labels.path);
  std::string head(1 << 12, ' ');
  in.read(head.data(), std::ssize(head));
  return head.find("<annotation") != std::string::npos;
}

}  // namespace

DatasetFormat voc_format() {
  return {.name = "voc",
          .open = open_voc,
          .several_places = true,
          .recognize = recognize_voc,
          .recognized_by =
              "a Pascal VOC folder (Annotations/ and JPEGImages/), or images with .xml files beside "
              "them, in Annotations/ or in annotations/",
          .labelled = has_voc_file,
          .label_files = "Pascal VOC's .xml"};
}

}  // namespace brightnet
