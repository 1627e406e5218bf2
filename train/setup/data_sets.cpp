#include "train/setup/data_sets.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/enum_names.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/text.h"
#include "data/split/fold.h"

namespace brightnet {
namespace {

Dataset with_problems_said(Dataset dataset, bool speaks) {
  const std::string problems = summarize(dataset.problems);
  if (speaks && !problems.empty()) log::warn("{}", problems);
  return dataset;
}

/// The images with the least hashes of their paths: they depend on nothing but these, and those of a smaller share are
/// among those of a larger one.
Dataset with_fraction(Dataset training, const DataOptions& data, bool speaks) {
  const size_t all = training.images.size();
  const auto kept =
      std::max<size_t>(1, static_cast<size_t>(std::lround(data.fraction * static_cast<double>(all))));
  if (data.fraction >= 1 || kept >= all) return training;
  // Where the run was started does not matter either: nothing is relative to a folder that is itself relative.
  const auto in_full = [](const std::filesystem::path& path) {
    return std::filesystem::absolute(path).lexically_normal();
  };
  const std::filesystem::path root = in_full(data.root);
  std::vector<std::pair<uint64_t, size_t>> ranked;
  for (size_t i = 0; i < all; ++i) {
    // As the data set names it, wherever its folder is.
    const std::string name = in_full(training.images[i].file).lexically_relative(root).string();
    ranked.emplace_back(hash_text(name), i);
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.resize(kept);
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<ImageRecord> images;
  for (const auto& [hash, image] : ranked) images.push_back(std::move(training.images[image]));
  training.images = std::move(images);
  if (speaks) log::info("{} of {} training images are trained on (data.fraction).", kept, all);
  return training;
}

}  // namespace

RunData read_run_data(const RunConfig& config, bool speaks) {
  check_place(config.data, Split::train);
  if (config.data.fold) {
    if (!config.data.val.empty()) check_place(config.data, Split::val);
    FoldData fold = read_fold(config.data);
    if (speaks) {
      log::info("Fold {}: of {} images {} are trained on and {} validated.", to_text(config.data.fold),
                fold.training.images.size() + fold.validation.images.size(), fold.training.images.size(),
                fold.validation.images.size());
    }
    return {with_fraction(with_problems_said(std::move(fold.training), speaks), config.data, speaks),
            std::move(fold.validation)};
  }
  check_place(config.data, Split::val);
  Dataset training =
      with_fraction(with_problems_said(read_dataset(config.data, Split::train), speaks), config.data, speaks);
  return {std::move(training), with_problems_said(read_dataset(config.data, Split::val), speaks)};
}

Split parse_split(const std::string& name) {
  if (const auto split = enum_value<Split>(name)) return *split;
  throw InputError("there is no split '" + name + "'", "", "It is train, val or test.");
}

Dataset read_split(const RunConfig& config, Split split, bool speaks) {
  if (config.data.fold && split != Split::test) {
    RunData data = read_run_data(config, speaks);
    return std::move(split == Split::train ? data.training : data.validation);
  }
  Dataset dataset = with_problems_said(read_dataset(config.data, split), speaks);
  return split == Split::train ? with_fraction(std::move(dataset), config.data, speaks) : dataset;
}

Dataset training_images(const RunConfig& config, Dataset pictures, bool speaks) {
  const TileOptions& tiles = config.data.tiles;
  if (!tiles) return pictures;
  Dataset cut = cut_into_tiles(pictures, tiles);
  if (speaks) {
    const auto empty = std::count_if(cut.images.begin(), cut.images.end(),
                                     [](const ImageRecord& image) { return image.annotations.empty(); });
    log::info("{} cut into {} of {} pixels{}, {} without an object (data.tiles).",
              counted(pictures.images.size(), "training image is", "training images are"),
              counted(cut.images.size(), "tile", "tiles"), tiles.size,
              tiles.whole ? ", the whole pictures among them" : "", empty);
  }
  return cut;
}

std::vector<std::string> class_names(const RunConfig& config) {
  std::vector<std::string> names = read_class_names(config.data);
  // Reading all of it tells why there are none.
  return names.empty() ? read_dataset(config.data, Split::train).classes : names;
}

}  // namespace brightnet
