#include "data/formats/mixed_labels.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "core/files.h"
#include "data/formats/folder.h"
#include "data/formats/format.h"
#include "data/formats/places.h"
#include "data/image/read_image.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// Adds the images of a folder and its subfolders, sorted; of a large folder not all, so that it costs no time.
void add_images(const fs::path& folder, std::vector<std::string>& images) {
  constexpr int enough_entries = 20000;
  const auto first = images.size();
  std::error_code failed, unknown;
  const auto options =
      fs::directory_options::follow_directory_symlink | fs::directory_options::skip_permission_denied;
  int entries = 0;
  for (auto entry = fs::recursive_directory_iterator(folder, options, failed);
       !failed && entry != fs::recursive_directory_iterator() && entries < enough_entries;
       entry.increment(failed), ++entries) {
    if (is_clutter(entry->path()) || (entry->is_directory(unknown) && is_output_folder(entry->path()))) {
      entry.disable_recursion_pending();
    } else if (is_image_name(entry->path())) {
      images.push_back(entry->path().lexically_normal().string());
    }
  }
  std::sort(images.begin() + static_cast<std::ptrdiff_t>(first), images.end());
}

std::vector<std::string> images_of_splits(const DataOptions& options) {
  std::vector<std::string> images;
  std::error_code failed;
  for (const Split split : {Split::train, Split::val, Split::test}) {
    for (const std::string& place : listed_places(options.place(split))) {
      const fs::path folder = find_below(place, {options.root});
      if (fs::is_directory(folder, failed)) add_images(folder, images);
    }
  }
  return images;
}

}  // namespace

LabelCounts count_labels(const DataOptions& options) {
  constexpr size_t enough_images = 200;
  LabelCounts counts;
  if (!options.format->labelled) return counts;
  const std::vector<std::string> images = images_of_splits(options);
  const auto& formats = dataset_formats();
  std::vector<size_t> others(formats.size());
  counts.images = std::min(images.size(), enough_images);
  counts.all = counts.images == images.size();
  for (size_t i = 0; i < counts.images; ++i) {
    // Spread, since those that were labelled with one tool often follow each other.
    const fs::path image = images[i * images.size() / counts.images];
    if (options.format->labelled(image, options.root)) {
      ++counts.own;
      continue;
    }
    for (size_t k = formats.size(); k-- > 0;) {
      if (!formats[k].labelled || !formats[k].labelled(image, options.root)) continue;
      ++others[k];
      break;
    }
  }
  const auto most = std::max_element(others.begin(), others.end());
  counts.of_other = *most;
  if (*most > 0) counts.other = &formats[static_cast<size_t>(most - others.begin())];
  return counts;
}

std::string LabelCounts::remark(const DatasetFormat& format) const {
  if (!other) return "";
  return fmt::format(
      "{} of {} images{} {} only {}, which is not read; {} {} {} (--set data.format={} reads the other)",
      of_other, images, all ? "" : " that were looked at", of_other == 1 ? "has" : "have", other->label_files,
      own, own == 1 ? "has" : "have", format.label_files, other->name);
}

}  // namespace brightnet
