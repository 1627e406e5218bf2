#include "data/split/fold.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "data/split/divide.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;

void number_anew_unless_unique(std::vector<ImageRecord>& images) {
  std::set<int64_t> ids;
  for (const ImageRecord& image : images) ids.insert(image.id);
  if (ids.size() == images.size()) return;
  for (size_t i = 0; i < images.size(); ++i) images[i].id = static_cast<int64_t>(i);
}

/// The group with the fewest images, of those with objects if there are any; of several the one with the least hash, so
/// that names do not matter.
size_t smallest_group(const Dataset& all, const std::vector<ImageContent>& contents,
                      const std::vector<size_t>& group_of) {
  struct Size {
    bool no_objects = true;
    size_t images = 0;
    uint64_t hash = std::numeric_limits<uint64_t>::max();
    auto operator<=>(const Size&) const = default;
  };
  std::map<size_t, Size> groups;
  for (size_t i = 0; i < group_of.size(); ++i) {
    Size& group = groups[group_of[i]];
    if (all.images[i].has_objects()) group.no_objects = false;
    group.images += 1;
    group.hash = std::min(group.hash, contents[i].bytes);
  }
  const auto smaller = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::min_element(groups.begin(), groups.end(), smaller)->first;
}

/// Whether a part validates anything: it has objects, or nothing has.
bool can_validate(const Dataset& all, const Division& division, size_t part) {
  bool any = false, any_in_part = false, has_image = false;
  for (size_t i = 0; i < all.images.size(); ++i) {
    const bool labelled = all.images[i].has_objects(), inside = division.part[i] == part;
    any |= labelled;
    any_in_part |= labelled && inside;
    has_image |= inside;
  }
  return any ? any_in_part : has_image;
}

/// Whether each image is validated.
std::vector<bool> validated_images(const Dataset& all, const Fold& fold) {
  const auto count = static_cast<size_t>(fold.count), part = static_cast<size_t>(fold.part) - 1;
  const std::vector<ImageContent> contents = image_contents(all.images);
  const DivideOptions equal{.shares = std::vector<double>(count, 1.0 / count)};
  const Division division = divide(all, contents, equal);
  const std::set<size_t> groups(division.group.begin(), division.group.end()),
      parts(division.part.begin(), division.part.end());
  const bool unasked = fold == validation_fold && groups.size() > 1;
  if (parts.size() < count && !unasked) {
    const std::string fewer =
        groups.size() > 1 ? fmt::format(", or take fewer parts: --fold 1/{}", groups.size()) : "";
    throw InputError(fmt::format("{} of different images cannot be divided into {} parts",
                                 counted(groups.size(), "group", "groups"), count),
                     fmt::format("data.fold={}", to_text(fold)),
                     "Name images to validate on (data.val)" + fewer);
  }
  // Of few labelled images among many without objects, a tenth may be of the latter alone.
  const bool by_part = unasked ? parts.size() > 1 && can_validate(all, division, part) : true;
  const size_t chosen = by_part ? part : smallest_group(all, contents, division.group);
  std::vector<bool> validated;
  for (const size_t own : by_part ? division.part : division.group) validated.push_back(own == chosen);
  return validated;
}

/// The box and class of an object.
auto box_and_class(const Annotation& a) {
  return std::tuple(a.class_id, a.x1, a.y1, a.x2, a.y2);
}

/// Those of `annotations` that `known` lacks.
std::vector<Annotation> missing_from(const std::vector<Annotation>& known,
                                     const std::vector<Annotation>& annotations) {
  std::vector<Annotation> missing;
  std::copy_if(annotations.begin(), annotations.end(), std::back_inserter(missing), [&](const Annotation& a) {
    return std::none_of(known.begin(), known.end(),
                        [&](const Annotation& b) { return box_and_class(a) == box_and_class(b); });
  });
  return missing;
}

/// Adds what a further split says of an image that `joined` has.
void add_record(JoinedSplits& joined, size_t image, Split split, ImageRecord record, bool merges) {
  ImageRecord& first = joined.dataset.images[image];
  const std::vector<Annotation> missing = missing_from(first.annotations, record.annotations);
  if (missing.empty()) return;
  joined.dataset.problems.push_back({merges ? Kind::listed_twice : Kind::other_labels, first.file.string(),
                                     fmt::format("with other labels in data.{} than in data.{}",
                                                 enum_name(split), enum_name(joined.from[image]))});
  if (!merges) return;
  first.annotations.insert(first.annotations.end(), missing.begin(), missing.end());
  record.file = first.file;
  joined.additions.push_back({image, split, std::move(record)});
}

}  // namespace

JoinedSplits read_splits(const DataOptions& options, const std::vector<Split>& splits) {
  DataOptions all_objects = options;
  all_objects.include_difficult_in_training = true;
  JoinedSplits joined;
  std::map<fs::path, size_t> known;
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
    const size_t before = joined.dataset.images.size();
    for (ImageRecord& image : dataset.images) {
      const auto at = known.find(real_path(image.file));
      if (at != known.end()) {
        add_record(joined, at->second, split, std::move(image), !options.format->writes_lists());
        continue;
      }
      joined.dataset.images.push_back(std::move(image));
      joined.from.push_back(split);
    }
    for (size_t i = before; i < joined.dataset.images.size(); ++i)
      known.try_emplace(real_path(joined.dataset.images[i].file), i);
  }
  return joined;
}

FoldData read_fold(const DataOptions& options) {
  std::vector<Split> splits = given_splits(options);
  std::erase(splits, Split::test);
  Dataset all = read_splits(options, splits).dataset;
  number_anew_unless_unique(all.images);
  const std::vector<bool> is_validated = validated_images(all, options.fold);
  FoldData fold;
  fold.training.classes = fold.validation.classes = all.classes;
  fold.training.problems = std::move(all.problems);
  for (size_t i = 0; i < all.images.size(); ++i) {
    const bool validated = is_validated[i];
    if (!validated && !options.include_difficult_in_training)
      std::erase_if(all.images[i].annotations, [](const Annotation& a) { return a.difficult; });
    (validated ? fold.validation : fold.training).images.push_back(std::move(all.images[i]));
  }
  return fold;
}

}  // namespace brightnet
