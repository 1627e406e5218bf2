#include "data/formats/yolo_names.h"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "core/config.h"
#include "core/files.h"
#include "data/formats/folder.h"
#include "data/formats/labels.h"
#include "data/formats/places.h"
#include "data/formats/yolo.h"
#include "data/image/stored_file.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// The first of these files that lists any names.
YoloNames::List first_names(const std::vector<fs::path>& candidates) {
  std::error_code failed;
  for (const auto& file : candidates) {
    if (!fs::is_regular_file(file, failed)) continue;
    ClassNames names =
        file.extension() == ".yaml" ? names_in_yaml(YamlDocument::load(file).root()) : read_names_file(file);
    if (!names.names().empty()) return {file, std::move(names)};
  }
  return {};
}

/// The list of the whole data set; none where its root has no such file.
YoloNames::List names_in_root(const fs::path& root) {
  std::vector<fs::path> candidates;
  for (const char* name : {"data.yaml", "dataset.yaml", "classes.txt", "obj.names"})
    candidates.push_back(root / name);
  return first_names(candidates);
}

YoloNames::List names_in(const std::vector<fs::path>& folders) {
  std::vector<fs::path> candidates;
  for (const fs::path& folder : folders) {
    for (const char* name : {"classes.txt", "_darknet.labels"}) candidates.push_back(folder / name);
  }
  return first_names(candidates);
}

/// The list near an image whose labels are in `labels`, which decides: ids were written with the list beside them. Only where
/// there is none may that of a folder of images be meant. None where there is no such file.
YoloNames::List names_near(const fs::path& image, const fs::path& labels, bool root_has_list) {
  const fs::path images = image.parent_path(), parallel = parallel_label(image).parent_path();
  std::vector<fs::path> folders{labels.empty() || labels == images ? images : labels};
  // Without a parallel folder, this would be the current one.
  if (!parallel.empty() && folders[0] != images) folders.push_back(folders[0].parent_path());
  if (!parallel.empty() && labels.empty()) folders.insert(folders.end(), {parallel, parallel.parent_path()});
  if (!labels.empty() && !root_has_list) {
    folders.push_back(images);
    if (!parallel.empty()) folders.insert(folders.end(), {parallel, parallel.parent_path()});
  }
  return names_in(folders);
}

/// The lists that folders of images have of their own, and all their names, in the order in which they are met.
struct OwnLists {
  std::map<fs::path, YoloNames::List> of_folder;
  ClassNames all;
};

OwnLists lists_near(const std::vector<fs::path>& images, const DataOptions& options, bool root_has_list) {
  struct Folder {
    fs::path image, labels;  // the first image, and the folder of the first label file
  };
  std::vector<Folder> folders;
  std::map<fs::path, size_t> places;
  for (const fs::path& image : images) {
    const auto [place, added] = places.emplace(image.parent_path(), folders.size());
    if (added) folders.push_back({image, {}});
    Folder& folder = folders[place->second];
    if (!folder.labels.empty()) continue;
    if (const LabelFile labels = own_labels(image); labels.found) folder.labels = labels.path.parent_path();
  }
  OwnLists lists;
  std::vector<std::string> all;
  for (const auto& [image, labels] : folders) {
    fs::path folder = image.parent_path();
    YoloNames::List list = names_near(image, labels, root_has_list);
    if (list.names.names().empty()) continue;
    for (const std::string& name : list.names.names()) {
      if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
    }
    lists.of_folder.emplace(std::move(folder), std::move(list));
  }
  lists.all = ClassNames(std::move(all), options.root);
  return lists;
}

/// The images of train, without all that reading it reports. Train may not be there where another split is read.
std::vector<fs::path> images_of_train(const DataOptions& options) {
  std::error_code failed;
  std::vector<fs::path> images;
  for (const std::string& path : listed_places(options.train)) {
    const fs::path place = find_below(path, {options.root});
    if (!fs::exists(place, failed)) continue;
    std::vector<fs::path> found;
    ProblemLog ignored(true);
    if (fs::is_directory(place, failed)) found = images_below(place);
    if (found.empty()) found = read_images(place, options, ignored);
    images.insert(images.end(), found.begin(), found.end());
  }
  return images;
}

bool begins_with(const std::vector<std::string>& all, const std::vector<std::string>& first) {
  return first.size() <= all.size() && std::equal(first.begin(), first.end(), all.begin());
}

/// What the classes are called that a folder's list has in an order of its own. A name that the lists of `all` lack stays,
/// and is an error where a label has it.
ClassNames by_name(const ClassNames& own, const ClassNames& all, const ClassNames& classes,
                   const std::string& where) {
  std::vector<std::string> names = own.names();
  const std::vector<std::string>& known = all.names();
  for (std::string& name : names) {
    const auto id = static_cast<size_t>(std::find(known.begin(), known.end(), name) - known.begin());
    if (id < std::min(known.size(), classes.names().size())) name = classes.names()[id];
  }
  return ClassNames(std::move(names), where);
}

}  // namespace

const ClassNames& YoloNames::of(const fs::path& image) const {
  const auto own = of_folder.find(image.parent_path());
  return own == of_folder.end() ? classes : own->second.names;
}

bool YoloNames::knows(const LabelledBox& box, const fs::path& image, ProblemLog& log) const {
  const auto own = file.empty() ? of_folder.end() : of_folder.find(image.parent_path());
  const std::vector<std::string>& all = classes.names();
  if (own == of_folder.end() || std::find(all.begin(), all.end(), box.class_name) != all.end()) return true;
  const std::string list = own->second.file.string();
  log.add(DataProblem::Kind::unknown_class, box.where,
          fmt::format("class '{}' of {} is not in {}", box.class_name, list, file.string()),
          fmt::format(
              "The ids in a folder are those of its own list. Add the name to {}, or remove {} if the ids "
              "here are not its own.",
              file.string(), list));
  return false;
}

YoloNames find_yolo_names(const DataOptions& options, Split split, const std::vector<fs::path>& images) {
  const YoloNames::List root = options.names.empty() ? names_in_root(options.root) : YoloNames::List();
  // A YAML's names are those of all ids. Of a text there is one in each folder of labels: labelImg writes a list there, in
  // the order in which it met the classes.
  if (!options.names.empty() || root.file.extension() == ".yaml") return {names_of_ids(options, root.names)};
  const OwnLists own = lists_near(images, options, !root.file.empty());
  const bool of_other = root.file.empty() && split != Split::train && !options.train.empty();
  const OwnLists train = of_other ? lists_near(images_of_train(options), options, false) : OwnLists();
  const ClassNames& met = train.all.names().empty() ? own.all : train.all;
  const ClassNames& all = root.file.empty() ? met : root.names;
  YoloNames found{.classes = names_of_ids(options, all), .file = root.file};
  for (const auto& [folder, list] : own.of_folder) {
    if (begins_with(all.names(), list.names.names())) continue;
    ClassNames names = by_name(list.names, all, found.classes, list.file.string());
    found.of_folder.emplace(folder, YoloNames::List{list.file, std::move(names)});
  }
  return found;
}

}  // namespace brightnet
