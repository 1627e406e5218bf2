#include "data/split/fold.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "data/split/divide.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

void number_anew_unless_unique(std::vector<ImageRecord>& images) {
  std::set<int64_t> ids;
  for (const ImageRecord& image : images) ids.insert(image.id);
  if (ids.size() == images.size()) return;
  for (size_t i = 0; i < images.size(); ++i) images[i].id = static_cast<int64_t>(i);
}

}  // namespace

JoinedSplits read_splits(const DataOptions& options, const std::vector<Split>& splits) {
  DataOptions all_objects = options;
  all_objects.include_difficult_in_training = true;
  JoinedSplits joined;
  std::set<fs::path> known;
  for (const Split split : splits) {
    Dataset dataset = read_dataset(all_objects, split);
    if (!joined.from.empty() && dataset.classes != joined.dataset.classes) {
      throw InputError(
          fmt::format("data.{} has other classes than data.{}", enum_name(split), enum_name(splits.front())),
          "", "List the names of all classes under data.classes.");
    }
    joined.dataset.classes = dataset.classes;
    auto& problems = joined.dataset.problems;
    problems.insert(problems.end(), dataset.problems.begin(), dataset.problems.end());
    std::vector<fs::path> own;
    for (ImageRecord& image : dataset.images) {
      own.push_back(real_path(image.file));
      if (known.contains(own.back())) continue;
      joined.dataset.images.push_back(std::move(image));
      joined.from.push_back(split);
    }
    known.insert(own.begin(), own.end());
  }
  return joined;
}

FoldData read_fold(const DataOptions& options) {
  std::vector<Split> splits = given_splits(options);
  std::erase(splits, Split::test);
  Dataset all = read_splits(options, splits).dataset;
  number_anew_unless_unique(all.images);
  const auto count = static_cast<size_t>(options.fold.count);
  const DivideOptions equal{.shares = std::vector<double>(count, 1.0 / count)};
  const Division division = divide(all, image_contents(all.images), equal);
  if (std::set<size_t>(division.part.begin(), division.part.end()).size() < count) {
    const std::set<size_t> groups(division.group.begin(), division.group.end());
    const std::string fewer =
        groups.size() > 1 ? fmt::format(", or take fewer parts: --fold 1/{}", groups.size()) : "";
    throw InputError(fmt::format("{} of different images cannot be divided into {} parts",
                                 counted(groups.size(), "group", "groups"), count),
                     fmt::format("data.fold={}", to_text(options.fold)),
                     "Name images to validate on (data.val)" + fewer);
  }
  FoldData fold;
  fold.training.classes = fold.validation.classes = all.classes;
  fold.training.problems = std::move(all.problems);
  for (size_t i = 0; i < all.images.size(); ++i) {
    const bool validated = division.part[i] + 1 == static_cast<size_t>(options.fold.part);
    if (!validated && !options.include_difficult_in_training)
      std::erase_if(all.images[i].annotations, [](const Annotation& a) { return a.difficult; });
    (validated ? fold.validation : fold.training).images.push_back(std::move(all.images[i]));
  }
  return fold;
}

}  // namespace brightnet
