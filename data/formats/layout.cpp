#include "data/formats/layout.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/formats/folder.h"
#include "data/formats/labels.h"
#include "data/image/read_image.h"

namespace brightnet {

namespace fs = std::filesystem;

namespace {

/// The file that `train` is when one of its words becomes a name of the other split; empty when there is none.
fs::path with_other_word(const fs::path& train, const std::string& word, Split split) {
  const std::string file = train.filename().string(), folder = train.parent_path().filename().string();
  for (const std::string& name : split_names(split)) {
    const auto replaced = [&](const std::string& text) {
      const size_t at = text.rfind(word);
      return at == std::string::npos ? text : text.substr(0, at) + name + text.substr(at + word.size());
    };
    const fs::path above = train.parent_path().parent_path();
    for (const fs::path& other : {train.parent_path() / replaced(file), above / replaced(folder) / file,
                                  above / replaced(folder) / replaced(file)}) {
      std::error_code failed;
      if (other != train && fs::exists(other, failed)) return other;
    }
  }
  return {};
}

/// The names, without their endings, of the files of an image's folders of labels.
std::set<std::string> stems_of_labels(const std::vector<fs::path>& places) {
  std::set<std::string> stems;
  for (const fs::path& place : places) {
    std::error_code failed;
    if (place.empty()) continue;
    for (const auto& entry : fs::directory_iterator(place.parent_path(), failed)) {
      if (has_extension(entry.path(), place.extension().native())) stems.insert(entry.path().stem().string());
    }
  }
  return stems;
}

/// data.root and, before it, the file's own folder (the one above annotations/) where this is elsewhere: data.root is then
/// that of another split's images.
std::vector<fs::path> image_roots(const fs::path& labels, const fs::path& root) {
  const fs::path folder = fs::absolute(labels).lexically_normal().parent_path();
  const fs::path relative = folder.lexically_relative(fs::absolute(root).lexically_normal());
  if (!relative.empty() && *relative.begin() != "..") return {root};
  return {folder.filename() == "annotations" ? folder.parent_path() : folder, root};
}

bool take_splits_of_layout(const fs::path& root, const std::string& layout, const SplitTests& tests,
                           DataOptions& options) {
  const size_t star = layout.find('*');
  const auto find = [&](Split split, const SplitTests::Test& good) -> std::string {
    for (const std::string& name : split_names(split)) {
      std::error_code failed;
      const std::string place = layout.substr(0, star) + name + layout.substr(star + 1);
      if (fs::exists(root / place, failed) && good(root / place)) return place;
    }
    return "";
  };
  const std::string train = find(Split::train, tests.train);
  if (train.empty()) return false;
  std::string val = find(Split::val, tests.labelled), test = find(Split::test, tests.labelled);
  if (val.empty()) val = find(Split::val, tests.images);
  if (tests.several && val.empty() && test.empty()) return false;
  options.root = root.string();
  options.train = train;
  options.val = val;
  options.test = test;
  return true;
}

}  // namespace

const std::vector<std::string>& split_names(Split split) {
  static const auto spelled = [](const std::vector<std::string>& words) {
    std::vector<std::string> names = words;
    for (std::string word : words) {
      word[0] = static_cast<char>(word[0] - 'a' + 'A');  // CVAT's own names of its subsets
      names.push_back(word);
    }
    for (std::string word : words) {
      for (char& letter : word) letter = static_cast<char>(std::toupper(letter));
      names.push_back(word);
    }
    for (const char* year : {"2017", "2014"}) names.push_back(words[0] + year);  // COCO's
    return names;
  };
  static const auto of_train = [] {
    std::vector<std::string> names = spelled({"train", "training"});
    names.emplace_back("trainval");  // where validation images are not told apart
    return names;
  };
  static const std::vector<std::string> train = of_train(), val = spelled({"val", "valid", "validation"}),
                                        test = spelled({"test", "testing"});
  switch (split) {
    case Split::train: break;
    case Split::val: return val;
    case Split::test: return test;
  }
  return train;
}

bool any_image(const fs::path& folder, const std::function<bool(const fs::path&)>& good) {
  constexpr int enough_images = 100, enough_entries = 20000;
  std::error_code failed, unknown;
  const auto options =
      fs::directory_options::follow_directory_symlink | fs::directory_options::skip_permission_denied;
  int images = 0, entries = 0;
  for (auto entry = fs::recursive_directory_iterator(folder, options, failed);
       !failed && entry != fs::recursive_directory_iterator() && images < enough_images &&
       entries < enough_entries;
       entry.increment(failed), ++entries) {
    if (is_clutter(entry->path()) || (entry->is_directory(unknown) && is_output_folder(entry->path())))
      entry.disable_recursion_pending();  // copies there have no labels
    if (!is_image_name(entry->path())) continue;
    ++images;
    if (!good || good(entry->path().lexically_normal())) return true;
  }
  return false;
}

bool any_labelled(const fs::path& folder, const LabelPlaces& places,
                  const std::function<bool(const fs::path&)>& is) {
  const auto labelled = [&](const fs::path& image) {
    const LabelFile labels = find_label_file(places(image));
    return labels.found && (!is || is(labels.path));
  };
  std::error_code failed;
  if (!fs::is_directory(folder, failed)) return false;
  if (any_image(folder, labelled)) return true;
  // The first ones may be background without label files. A listing of the labels takes far less time than a look for
  // the label of each image.
  std::map<fs::path, std::set<std::string>> stems;
  for (const fs::path& image : images_below(folder)) {
    const auto [at, added] = stems.try_emplace(image.parent_path());
    if (added) at->second = stems_of_labels(places(image));
    if (at->second.contains(image.stem().string()) && labelled(image)) return true;
  }
  return false;
}

SplitTests SplitTests::of_known_format() const {
  SplitTests tests = *this;
  tests.train = images;
  tests.several = true;
  return tests;
}

bool take_splits(const fs::path& root, const std::vector<std::string>& layouts, const SplitTests& tests,
                 DataOptions& options) {
  return std::any_of(layouts.begin(), layouts.end(), [&](const std::string& layout) {
    return take_splits_of_layout(root, layout, tests, options);
  });
}

bool has_word_of(const std::string& name, Split split) {
  const auto& words = split_names(split);
  std::string word;
  for (const char c : name + '.') {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      word += c;
    } else if (std::find(words.begin(), words.end(), word) != words.end()) {
      return true;
    } else {
      word.clear();
    }
  }
  return false;
}

bool names_split(const std::string& text, Split split) {
  const auto& names = split_names(split);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return text.find(name) != std::string::npos; });
}

std::vector<fs::path> image_folders(const fs::path& labels, const fs::path& root, Split split) {
  const std::string stem = labels.stem().string();
  std::vector<std::string> names = split_names(split);
  names.insert(names.begin(), stem.substr(stem.rfind('_') + 1));
  std::vector<fs::path> folders;
  const auto add = [&](const fs::path& folder) {
    std::error_code failed;
    if (fs::is_directory(folder, failed)) folders.push_back(folder);
  };
  for (const fs::path& above : image_roots(labels, root)) {
    for (const std::string& name : names) {
      add(above / name);
      add(above / "images" / name);
    }
    add(above / "images");
    add(above);
  }
  for (const char* beside : {"images", "data", "."}) add((labels.parent_path() / beside).lexically_normal());
  return folders;
}

fs::path of_other_split(const fs::path& train, Split split) {
  for (const std::string& word : split_names(Split::train)) {
    if (fs::path other = with_other_word(train, word, split); !other.empty()) return other;
  }
  return {};
}

void take_file(const fs::path& root, const fs::path& file, DataOptions& options) {
  const auto place = [&](const fs::path& path) { return path.empty() ? "" : below_root(path, root); };
  options.root = root.string();
  options.train = place(file);
  options.val = place(of_other_split(file, Split::val));
  options.test = place(of_other_split(file, Split::test));
}

void take_archives(const fs::path& folder, const std::vector<fs::path>& archives, DataOptions& options) {
  std::vector<std::string> left;
  for (const fs::path& archive : archives) left.push_back(archive.filename().string());
  const auto take = [&](Split split) {
    for (const std::string& word : split_names(split)) {
      const auto of_split = [&](const std::string& name) {
        return name.starts_with(word) && !std::isalpha(static_cast<unsigned char>(name[word.size()]));
      };
      const auto own = std::stable_partition(left.begin(), left.end(), std::not_fn(of_split));
      if (own == left.end()) continue;
      std::string places = fmt::format("{}", fmt::join(own, left.end(), "\n"));
      left.erase(own, left.end());
      return places;
    }
    return std::string();
  };
  options.root = folder.string();
  options.val = take(Split::val);
  options.test = take(Split::test);
  const bool divided = !options.val.empty() || !options.test.empty();
  options.train = take(Split::train);
  if (options.train.empty() && divided) options.train = fmt::format("{}", fmt::join(left, "\n"));
  if (options.train.empty()) options.train = ".";
}

std::string below_root(const fs::path& path, const fs::path& root) {
  const fs::path relative = path.lexically_normal().lexically_relative(root.lexically_normal());
  if (relative.empty() || *relative.begin() == "..") return path.lexically_normal().string();
  return relative.string();
}

}  // namespace brightnet
