#include "data/formats/yolo_names.h"

#include <algorithm>
#include <set>
#include <string>

#include "core/config.h"
#include "core/files.h"
#include "data/formats/folder.h"
#include "data/formats/places.h"
#include "data/formats/yolo.h"
#include "data/image/stored_file.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// The names in the first of these files that lists any.
ClassNames first_names(const std::vector<fs::path>& candidates) {
  std::error_code failed;
  for (const auto& file : candidates) {
    if (!fs::is_regular_file(file, failed)) continue;
    ClassNames names =
        file.extension() == ".yaml" ? names_in_yaml(YamlDocument::load(file).root()) : read_names_file(file);
    if (!names.names().empty()) return names;
  }
  return {};
}

/// The list of the whole data set; none where its root has no such file.
ClassNames names_in_root(const fs::path& root) {
  std::vector<fs::path> candidates;
  for (const char* name : {"data.yaml", "dataset.yaml", "classes.txt", "obj.names"})
    candidates.push_back(root / name);
  return first_names(candidates);
}

/// The list near an image; none where there is no such file.
ClassNames names_near(const fs::path& image) {
  std::vector<fs::path> candidates, folders{image.parent_path()};
  // Without a parallel folder, this would be the current one.
  if (const fs::path labels = parallel_label(image).parent_path(); !labels.empty())
    folders.insert(folders.end(), {labels, labels.parent_path()});
  for (const fs::path& folder : folders) {
    for (const char* name : {"classes.txt", "_darknet.labels"}) candidates.push_back(folder / name);
  }
  return first_names(candidates);
}

/// The lists that folders of images have of their own, and all their names, in the order in which they are met.
struct OwnLists {
  std::map<fs::path, ClassNames> of_folder;
  ClassNames all;
};

OwnLists lists_near(const std::vector<fs::path>& images, const DataOptions& options) {
  OwnLists lists;
  std::set<std::string> seen;
  std::vector<std::string> all;
  for (const fs::path& image : images) {
    fs::path folder = image.parent_path();
    if (!seen.insert(folder.string()).second) continue;
    ClassNames names = names_near(image);
    if (names.names().empty()) continue;
    for (const std::string& name : names.names()) {
      if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
    }
    lists.of_folder.emplace(std::move(folder), std::move(names));
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

/// What the classes are called that a folder's list has in an order of its own. A name that train's lists lack stays, and
/// is an error where a label has it.
ClassNames by_name(const ClassNames& own, const ClassNames& of_train, const ClassNames& classes,
                   const std::string& where) {
  std::vector<std::string> names = own.names();
  const std::vector<std::string>& train = of_train.names();
  for (std::string& name : names) {
    const auto id = static_cast<size_t>(std::find(train.begin(), train.end(), name) - train.begin());
    if (id < std::min(train.size(), classes.names().size())) name = classes.names()[id];
  }
  return ClassNames(std::move(names), where);
}

}  // namespace

const ClassNames& YoloNames::of(const fs::path& image) const {
  const auto own = of_folder.find(image.parent_path());
  return own == of_folder.end() ? classes : own->second;
}

YoloNames find_yolo_names(const DataOptions& options, Split split, const std::vector<fs::path>& images) {
  const ClassNames of_all = options.names.empty() ? names_in_root(options.root) : ClassNames();
  if (!options.names.empty() || !of_all.names().empty()) return {names_of_ids(options, of_all)};
  // labelImg writes a list into each folder of labels, in the order in which it met the classes.
  const OwnLists own = lists_near(images, options);
  const bool of_other = split != Split::train && !options.train.empty();
  const OwnLists train = of_other ? lists_near(images_of_train(options), options) : OwnLists();
  const ClassNames& all = train.all.names().empty() ? own.all : train.all;
  YoloNames found{names_of_ids(options, all)};
  for (const auto& [folder, names] : own.of_folder) {
    if (!begins_with(all.names(), names.names()))
      found.of_folder.emplace(folder, by_name(names, all, found.classes, folder.string()));
  }
  return found;
}

}  // namespace brightnet
