#include "data/formats/places.h"

#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/files.h"

namespace brightnet {

namespace fs = std::filesystem;

std::vector<std::string> listed_places(const std::string& place) {
  std::vector<std::string> places;
  std::istringstream lines(place);
  for (std::string line; std::getline(lines, line);) places.push_back(line);
  return places;
}

std::string split_path(const DataOptions& options, Split split) {
  const std::string& path = options.place(split);
  if (path.empty()) {
    throw InputError(
        fmt::format("data.{}", enum_name(split)) + " is not set", "",
        split == Split::test
            ? "The data set names no test images. Name them under `data:` or by --set data.test=PLACE (a list, a "
              "folder or a file, by format), or divide the data set: brightnet data split DATA --out DIR"
            : fmt::format(
                  "Name the data set with --data, or the {} images under `data:` (a list, a folder or a "
                  "file, by format).",
                  enum_name(split)));
  }
  return path;
}

void check_exists(const fs::path& place, Split split) {
  std::error_code failed;
  if (fs::exists(place, failed)) return;
  const std::string key = fmt::format("data.{}", enum_name(split));
  throw InputError(
      "what " + key + " names " + (failed ? "cannot be accessed: " + failed.message() : "does not exist"),
      place.string(),
      "Check data.root and " + key +
          " (relative paths start at data.root), or name the data set with --data." +
          (split == Split::test ? " Where there are no test images, say so: --set 'data.test=\"\"'." : ""));
}

std::vector<fs::path> split_places(const DataOptions& options, Split split,
                                   const std::vector<fs::path>& folders) {
  std::vector<fs::path> places;
  for (const std::string& path : listed_places(split_path(options, split))) {
    places.push_back(find_below(path, folders));
    check_exists(places.back(), split);
  }
  return places;
}

fs::path split_place(const DataOptions& options, Split split, const std::vector<fs::path>& folders) {
  const std::vector<fs::path> places = split_places(options, split, folders);
  if (places.size() == 1) return places[0];
  std::vector<std::string> several;
  for (const DatasetFormat& format : dataset_formats()) {
    if (format.several_places) several.push_back(format.name);
  }
  throw InputError(
      fmt::format("data.{} is a list of {} places, and data.format: {} takes one", enum_name(split),
                  places.size(), options.format->name),
      "", fmt::format("Only with data.format: {} may there be several.", fmt::join(several, " or ")));
}

fs::path split_file(const DataOptions& options, Split split, const char* what) {
  const fs::path file = split_place(options, split, {data_root(options)});
  std::error_code failed;
  if (!fs::is_directory(file, failed)) return file;
  throw InputError(fmt::format("data.{} names a folder", enum_name(split)), file.string(),
                   fmt::format("With data.format: {} it is {}.", options.format->name, what));
}

fs::path data_root(const DataOptions& options) {
  const fs::path root(options.root);
  std::error_code failed;
  if (!fs::is_directory(root, failed)) {
    throw InputError("data.root is not a folder", fs::absolute(root).string(),
                     "Set the folder of the data, for example with --set data.root=FOLDER.");
  }
  return root;
}

fs::path find_listed(const std::string& path, const fs::path& file, const DataOptions& options) {
  const fs::path folder = file.parent_path();
  constexpr std::string_view prefix = "data/";
  if (path.starts_with(prefix)) {
    std::error_code failed;
    const fs::path beside = find_below(path.substr(prefix.size()), {folder});
    if (fs::exists(beside, failed)) return beside;
  }
  return find_below(path, {options.root, folder, ".", folder.parent_path()});
}

std::vector<fs::path> read_image_list(const fs::path& list, const DataOptions& options) {
  std::vector<fs::path> images;
  for (const TextLine& line : read_lines(list, most_list_bytes))
    images.push_back(find_listed(line.text, list, options));
  return images;
}

}  // namespace brightnet
