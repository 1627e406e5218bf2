#include "data/formats/pooled_splits.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/files.h"
#include "core/printable.h"
#include "core/text.h"
#include "data/formats/folder.h"
#include "data/formats/format.h"
#include "data/formats/layout.h"
#include "data/formats/voc_files.h"

namespace brightnet {

namespace fs = std::filesystem;

namespace {

/// A folder that has a split's word in its name: "my-train_set" is of train, and what else it says is "my set".
struct SplitFolder {
  Split split = Split::train;
  std::string rest;
};

/// The words of a name, in lower case: "my-train_set1" is {"my", "train", "set1"}.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words(1);
  for (const char c : lower_case(name)) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// The word without a number and "set" or "data" at its end: "trainset" and "train1" are train's too.
std::string stem_of_word(std::string word) {
  while (!word.empty() && std::isdigit(static_cast<unsigned char>(word.back()))) word.pop_back();
  for (const std::string_view ending : {"set", "data"}) {
    if (word.size() > ending.size() && word.ends_with(ending)) word.resize(word.size() - ending.size());
  }
  return word;
}

/// None for a name with no word of a split, or with several.
std::optional<SplitFolder> split_folder(const std::string& name) {
  std::optional<SplitFolder> found;
  std::vector<std::string> rest;
  for (const std::string& word : words_of(name)) {
    std::optional<Split> split;
    for (const Split one : {Split::train, Split::val, Split::test}) {
      const auto& names = split_names(one);
      if (std::find(names.begin(), names.end(), word) != names.end() ||
          std::find(names.begin(), names.end(), stem_of_word(word)) != names.end())
        split = one;
    }
    if (!split) {
      rest.push_back(word);
      continue;
    }
    if (found) return std::nullopt;
    found = SplitFolder{*split, ""};
  }
  if (found) found->rest = fmt::format("{}", fmt::join(rest, " "));
  return found;
}

using FoldersOfSplits = std::map<Split, std::set<fs::path>>;

/// Folders below the place of training images with the names of different splits, which say the same but for the split's
/// word: "train" and "test" do, "train_station" and "test_tube" do not. Empty where there are none.
FoldersOfSplits folders_of_splits(const std::vector<fs::path>& images, const fs::path& train, bool is_named) {
  std::map<std::string, FoldersOfSplits> by_rest;
  fs::path last;
  for (const fs::path& image : images) {
    if (image.parent_path() == last) continue;
    last = image.parent_path();
    fs::path folder = train;
    for (const fs::path& part : last.lexically_relative(train)) {
      folder /= part;
      const auto found = split_folder(part.string());
      // Below a folder that is itself called train, a training_day is one of its days.
      if (!found || (is_named && !found->rest.empty())) continue;
      by_rest[found->rest][found->split].insert(folder);
      break;
    }
  }
  for (auto& [rest, folders] : by_rest) {
    if (folders.size() > 1) return std::move(folders);
  }
  return {};
}

/// The folder above these, when it is one and another than the place, that may be the data set which is meant.
fs::path data_set_above(const FoldersOfSplits& folders, const fs::path& place) {
  std::set<fs::path> above;
  for (const auto& [split, all] : folders) {
    for (const fs::path& folder : all) above.insert(folder.parent_path());
  }
  fs::path found = *above.begin();
  if (found != place && (found.filename() == "images" || found.filename() == "JPEGImages"))
    found = found.parent_path();
  std::error_code failed;
  for (fs::path folder = found; folder != place && folder.has_relative_path();
       folder = folder.parent_path()) {
    if (fs::exists(folder / "data.yaml", failed) || fs::exists(folder / "dataset.yaml", failed))
      return folder;
  }
  return found == place ? fs::path() : found;
}

/// The lines of a data.yaml that name these folders; empty where a format takes no lists of folders.
std::vector<std::string> lines_of_yaml(const FoldersOfSplits& folders, const fs::path& place,
                                       const DatasetFormat& format) {
  std::vector<std::string> lines{fmt::format("format: {}", format.name)};
  if (!folders.contains(Split::train)) lines.emplace_back("train: FOLDER");
  for (const auto& [split, all] : folders) {
    std::vector<std::string> names;
    for (const fs::path& folder : all) names.push_back(below_root(folder, place));
    if (names.size() > 1 && !format.several_places) return {};
    lines.push_back(names.size() == 1 ? fmt::format("{}: {}", enum_name(split), names[0])
                                      : fmt::format("{}: [{}]", enum_name(split), fmt::join(names, ", ")));
  }
  return lines;
}

/// The folder of validation or test images, by exactly such a name, in which an image lies; empty for others.
fs::path held_back_folder(const fs::path& image, const fs::path& train) {
  fs::path folder = train;
  for (const fs::path& part : image.parent_path().lexically_relative(train)) {
    folder /= part;
    for (const Split split : {Split::val, Split::test}) {
      const auto& names = split_names(split);
      if (std::find(names.begin(), names.end(), part.string()) != names.end()) return folder;
    }
  }
  return {};
}

/// Such a folder with labelled images among training images that lie outside of all of them; empty where there is none.
fs::path held_back_among(const std::vector<fs::path>& images, const fs::path& train,
                         const DataOptions& options) {
  fs::path found;
  bool any_outside = false;
  for (const fs::path& image : images) {
    const fs::path folder = held_back_folder(image, train);
    any_outside = any_outside || folder.empty();
    if (found.empty() && !folder.empty() && options.format->labelled(image, options.root)) found = folder;
    if (any_outside && !found.empty()) return found;
  }
  return {};
}

/// Throws for such a folder.
void refuse_held_back_folder(const fs::path& folder, const DataOptions& options, const fs::path& place) {
  const fs::path above = folder.parent_path(), root = options.root;
  const bool in_images =
      above.parent_path() == root && (above.filename() == "images" || above.filename() == "JPEGImages");
  const std::string name = folder.filename().string();
  const std::string division =
      above == root || in_images
          ? fmt::format(
                "Move the other images into a folder {}, and their labels, where those of {} lie in a folder {} "
                "too, into one called train beside it",
                (above / "train").string(), name, name)
          : fmt::format(
                "Keep images of different splits in folders of which none is in another, and write their places "
                "into the file {} with the lines 'format: {}', 'train: FOLDER', 'val: FOLDER'",
                (place / "data.yaml").string(), options.format->name);
  const std::string of_root = root == place ? "" : fmt::format("'root: {}', ", below_root(root, place));
  throw InputError(
      fmt::format(
          "the folder {} has the name of {} images, and its images would be trained on with those outside of it",
          below_root(folder, place), has_word_of(name, Split::val) ? "validation" : "test"),
      place.string(),
      fmt::format(
          "{}. To train on all of them, write the file {} with the lines 'format: {}', {}'train: {}'.",
          division, (place / "data.yaml").string(), options.format->name, of_root, options.train));
}

using Test = std::function<bool(const fs::path& folder)>;

/// The first folder outside of the training images that has the name of a split and passes the test, as a path below the
/// root: val/images beside images/. Empty where there is none, or where no folder has the training images.
std::string folder_beside(const DataOptions& options, Split split, const Test& good) {
  const fs::path root = options.root, train = root / options.train;
  std::error_code failed;
  if (!fs::is_directory(train, failed)) return "";
  for (const auto& [before, behind] :
       {std::pair("", "/images"), {"images/", ""}, {"JPEGImages/", ""}, {"", ""}}) {
    for (const std::string& name : split_names(split)) {
      std::string place = before + name + behind;
      const fs::path folder = root / place;
      if (fs::is_directory(folder, failed) && !is_output_folder(folder) && !lies_in(folder, train) &&
          good(folder))
        return place;
    }
  }
  return "";
}

/// Whether any image of a folder has labels, however many have none.
bool has_labelled(const fs::path& folder, const DataOptions& options) {
  const auto labelled = [&](const fs::path& image) { return options.format->labelled(image, options.root); };
  if (any_image(folder, labelled)) return true;
  const std::vector<fs::path> images = images_below(folder);
  return std::any_of(images.begin(), images.end(), labelled);
}

/// Validation or test images are there and not used, because no labels of theirs were found.
std::string unlabelled_split(const DataOptions& options, Split split) {
  const fs::path root = options.root, train = root / options.train;
  std::error_code failed;
  if (!options.place(split).empty() || !fs::is_directory(train, failed)) return "";
  std::string place;
  if (options.format->labelled) {
    place = folder_beside(options, split, [](const fs::path& folder) { return any_image(folder); });
  } else if (const fs::path test = of_other_split(train, Split::test);
             split == Split::test && !test.empty() && any_image(test)) {
    place = below_root(test, root);
  }
  const bool beside = !place.empty() && !fs::path(place).is_absolute();
  return beside ? fmt::format("without {} (no labels were found there)", place) : "";
}

/// A folder of VOC lists images of other splits, and none of train.
std::string missing_list(const DataOptions& options) {
  const std::string& listed = options.val.empty() ? options.test : options.val;
  if (options.train != "JPEGImages" || !listed.starts_with("ImageSets/")) return "";
  return fmt::format("without a list of training images, for which all of {} are taken, those of {} too",
                     options.train, listed);
}

/// The list of a split in the root or in ImageSets/, by exactly such a name; empty where there is none.
std::string list_of_split(const fs::path& root, Split split) {
  std::error_code failed;
  for (const char* folder : {"", "ImageSets/", "ImageSets/Main/"}) {
    for (const std::string& name : split_names(split)) {
      std::string list = folder + name + ".txt";
      if (fs::is_regular_file(root / list, failed)) return list;
    }
  }
  return "";
}

/// The image among those of training that the first line of a list names, with or without its folder and its extension; empty
/// for other texts, such as labels.
fs::path image_of_first_line(const std::string& line, const DataOptions& options) {
  const fs::path name = fs::path(line).filename();
  std::error_code failed;
  const fs::path train = fs::path(options.root) / options.train;
  if (!fs::is_directory(train, failed)) return {};
  const std::vector<fs::path> images = images_below(train);
  const auto found = std::find_if(images.begin(), images.end(), [&](const fs::path& image) {
    return image.filename() == name || image.stem() == name;
  });
  return found == images.end() ? fs::path() : found->lexically_normal();
}

/// What a list of a split names.
struct SplitList {
  std::string path;      ///< path below the root; empty where there is no such list
  fs::path image;        ///< first of its images
  bool is_read = false;  ///< whether its format finds that image by the line
};

SplitList split_list(const DataOptions& options, Split split) {
  const fs::path root = options.root;
  const std::string path = list_of_split(root, split);
  if (path.empty()) return {};
  std::vector<TextLine> lines;
  try {
    lines = read_lines(root / path, most_list_bytes);
  } catch (const InputError&) {  // no list, and nothing reads it
  }
  if (lines.empty()) return {};
  const bool is_voc = options.format->name == "voc";
  const std::string line = is_voc ? columns_of(lines[0].text).image : lines[0].text;
  const fs::path image = image_of_first_line(line, options);
  if (image.empty()) return {};
  std::error_code failed;
  const bool by_name = is_voc && image.parent_path() == (root / "JPEGImages").lexically_normal();
  return {path, image, by_name || fs::exists(find_below(line, {root}), failed)};
}

/// A list of validation or test images is there, and nothing of what was recognized uses it.
std::string unused_list(const DataOptions& options, Split split) {
  if (!options.place(split).empty() || !options.format->labelled) return "";
  const SplitList list = split_list(options, split);
  if (list.path.empty()) return "";
  if (!list.is_read) {
    return fmt::format("without {} (its lines are no paths such as {})", list.path,
                       below_root(list.image, options.root));
  }
  const std::string setting = "--set " + shell_quoted(fmt::format("data.{}={}", enum_name(split), list.path));
  if (given_splits(options) != std::vector{Split::train})
    return fmt::format("without {} ({} takes it)", list.path, setting);
  const SplitList train = split_list(options, Split::train);
  if (train.is_read)
    return fmt::format("without {} (--set {} {} takes both lists)", list.path,
                       shell_quoted("data.train=" + train.path), setting);
  return fmt::format(
      "without {} ({} takes it; its images are trained on too unless a list data.train leaves them out)",
      list.path, setting);
}

}  // namespace

void refuse_pooled_splits(const RecognizedData& data, const fs::path& place) {
  const DataOptions& options = data.options;
  const fs::path train = without_slash(fs::absolute(fs::path(options.root) / options.train));
  std::error_code failed;
  if (!data.undivided() || !fs::is_directory(train, failed)) return;
  const fs::path named = train.lexically_relative(place);
  const bool is_named = std::any_of(named.begin(), named.end(), [](const fs::path& part) {
    return has_word_of(part.string(), Split::train);
  });
  const std::vector<fs::path> images = images_below(train);
  const FoldersOfSplits folders = folders_of_splits(images, train, is_named);
  if (folders.empty()) {
    if (!options.format->labelled) return;
    const fs::path held_back = held_back_among(images, train, options);
    if (!held_back.empty()) refuse_held_back_folder(held_back, options, place);
    return;
  }
  std::vector<std::string> names;
  for (const auto& [split, all] : folders) names.push_back(below_root(*all.begin(), place));
  const fs::path above = data_set_above(folders, place);
  const std::vector<std::string> lines = lines_of_yaml(folders, place, *options.format);
  const std::string file = (place / "data.yaml").string();
  throw InputError(
      fmt::format("the folders {} have names of different splits, and all their images would be trained on",
                  fmt::join(names, " and ")),
      place.string(),
      fmt::format(
          "This is no layout of a divided data set that is known. Give the folder of one data set{}{}. "
          "With the lines 'format: {}' and 'train: .' {} all images are for training.",
          above.empty() ? "" : ", such as " + above.string(),
          lines.empty() ? ""
                        : fmt::format(", or say which images are data.train and data.val: write the file "
                                      "{} with the lines '{}'",
                                      file, fmt::join(lines, "', '")),
          options.format->name, lines.empty() ? "in " + file : std::string("instead")));
}

void take_splits_beside(RecognizedData& data) {
  DataOptions& options = data.options;
  if (!data.undivided() || !options.format->labelled) return;
  const auto labelled = [&](const fs::path& folder) { return has_labelled(folder, options); };
  std::string val = folder_beside(options, Split::val, labelled);
  std::string test = folder_beside(options, Split::test, labelled);
  options.val = std::move(val);
  options.test = std::move(test);
}

std::string remark_on_splits(const DataOptions& options) {
  std::vector<std::string> remarks{unlabelled_split(options, Split::val),
                                   unlabelled_split(options, Split::test), missing_list(options),
                                   unused_list(options, Split::val), unused_list(options, Split::test)};
  std::erase(remarks, "");
  return fmt::format("{}", fmt::join(remarks, ", "));
}

}  // namespace brightnet
