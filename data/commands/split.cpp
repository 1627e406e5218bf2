#include "data/commands/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/text.h"
#include "data/commands/convert.h"
#include "data/split/divide.h"
#include "data/split/fold.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// The ratios without those of splits that are left out.
std::vector<double> shares_of(const std::vector<double>& ratios) {
  std::vector<double> shares = ratios;
  while (!shares.empty() && shares.back() == 0) shares.pop_back();
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  const bool positive = std::all_of(shares.begin(), shares.end(), [](double share) { return share > 0; });
  if (shares.size() < 2 || shares.size() > 3 || !positive || std::abs(sum - 1) > 1e-6) {
    throw InputError(fmt::format("the ratios are {} and must be those of train, val and test, adding up to 1",
                                 fmt::join(ratios, ",")),
                     "--ratios", "For example 0.8,0.1,0.1, or 0.8,0.2 without a test split.");
  }
  return shares;
}

SplitReport::Part count(const Dataset& dataset, const Division& division, Split split) {
  SplitReport::Part part{.split = split, .boxes = std::vector<size_t>(dataset.classes.size())};
  for (size_t i = 0; i < dataset.images.size(); ++i) {
    if (division.part[i] != static_cast<size_t>(split)) continue;
    const auto& annotations = dataset.images[i].annotations;
    ++part.images;
    part.background += annotations.empty();
    for (const Annotation& a : annotations) ++part.boxes[a.class_id];
  }
  return part;
}

std::vector<std::vector<std::string>> groups_of_several(const Dataset& dataset, const Division& division) {
  std::vector<std::vector<std::string>> groups;
  for (size_t i = 0; i < division.group.size(); ++i) {
    groups.resize(std::max(groups.size(), division.group[i] + 1));
    groups[division.group[i]].push_back(dataset.images[i].file.string());
  }
  std::erase_if(groups, [](const auto& group) { return group.size() < 2; });
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return groups;
}

void check_none_empty(const SplitReport& report) {
  for (const SplitReport::Part& part : report.parts) {
    if (part.images > 0) continue;
    throw InputError(fmt::format("{} would have no image: there are too few, or too many that look alike",
                                 enum_name(part.split)),
                     "--ratios", "Give it a larger share, or leave it out.");
  }
}

size_t total(const std::vector<size_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), size_t{0});
}

size_t images_of(const std::vector<SplitReport::Part>& parts) {
  size_t images = 0;
  for (const auto& part : parts) images += part.images;
  return images;
}

/// A table's row: each split's count and its share of all.
std::string row(const std::string& name, size_t width, const std::vector<size_t>& counts) {
  std::string text = fmt::format("{:<{}}", name, width);
  const size_t all = total(counts);
  for (const size_t count : counts) {
    const std::string share = all == 0 ? "" : fmt::format("{:.1f} %", 100.0 * count / all);
    text += fmt::format("  {:>8} {:>7}", count, share);
  }
  return text + '\n';
}

}  // namespace

std::string SplitReport::text() const {
  size_t width = 10;
  for (const auto& name : classes) width = std::max(width, name.size() + 2);
  std::string out(width, ' ');
  for (const Part& part : parts) out += fmt::format("  {:>8}        ", enum_name(part.split));
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
  const auto add_row = [&](const std::string& name, const auto& number) {
    std::vector<size_t> counts;
    for (const Part& part : parts) counts.push_back(number(part));
    out += row(name, width, counts);
  };
  add_row("images", [](const Part& part) { return part.images; });
  add_row("no objects", [](const Part& part) { return part.background; });
  add_row("boxes", [](const Part& part) { return total(part.boxes); });
  for (size_t c = 0; c < classes.size(); ++c)
    add_row("  " + classes[c], [c](const Part& part) { return part.boxes[c]; });
  if (groups.empty()) return out + (similar ? "No two images look alike.\n" : "No file is there twice.\n");
  size_t images = 0;
  for (const auto& group : groups) images += group.size();
  out += fmt::format(
      "{} that {} are in {}, each of which is in one split; the largest has {}: {}{}\n",
      counted(images, "image", "images"), similar ? "look alike" : "have the same bytes",
      counted(groups.size(), "group", "groups"), groups[0].size(),
      fmt::join(groups[0].begin(), groups[0].begin() + std::min<ptrdiff_t>(3, std::ssize(groups[0])), ", "),
      groups[0].size() > 3 ? ", …" : "");
  size_t smallest = images_of(parts);
  for (const Part& part : parts) smallest = std::min(smallest, part.images);
  if (similar && groups[0].size() > smallest) {
    out +=
        "This group is larger than a split, as with a camera that does not move. --exact keeps only files "
        "with the same bytes together; then similar images are in several splits.\n";
  }
  return out;
}

nlohmann::json SplitReport::json() const {
  nlohmann::json out{{"images", images_of(parts)}, {"splits", nlohmann::json::array()}, {"groups", groups}};
  for (const Part& part : parts) {
    nlohmann::json by_class = nlohmann::json::array();
    for (size_t c = 0; c < classes.size(); ++c)
      by_class.push_back({{"name", classes[c]}, {"boxes", part.boxes[c]}});
    out["splits"].push_back({{"split", enum_name(part.split)},
                             {"file", data.place(part.split)},
                             {"images", part.images},
                             {"background", part.background},
                             {"boxes", total(part.boxes)},
                             {"classes", std::move(by_class)}});
  }
  return out;
}

SplitReport split_dataset(const DataOptions& options, const SplitOptions& split_options) {
  if (options.format->written_extension.empty()) {
    throw InputError(
        fmt::format("data.format: {} cannot be divided into files of its own", options.format->name), "",
        "Convert the data set first: brightnet data convert DATA --to coco --out FOLDER. Without data.val, "
        "`train` takes a tenth of the images by itself.");
  }
  const std::vector<double> shares = shares_of(split_options.ratios);
  check_empty_folder(split_options.folder);
  const JoinedSplits joined = read_splits(options, given_splits(options));
  const Dataset& dataset = joined.dataset;
  const Division division =
      divide(dataset, image_contents(dataset.images),
             {.shares = shares, .seed = split_options.seed, .similar = split_options.similar});
  SplitReport report;
  report.classes = dataset.classes;
  report.similar = split_options.similar;
  report.problems = summarize(dataset.problems);
  report.groups = groups_of_several(dataset, division);
  report.data = options;
  report.data.root = fs::absolute(options.root).lexically_normal().string();
  if (options.map.empty() && options.target_class_mapping.empty() && !options.single_class &&
      options.names.empty())
    report.data.classes = dataset.classes;
  if (options.names.empty() && options.format->names_of_train)
    report.data.names = options.format->names_of_train(options);
  report.data.fold = {};
  std::vector<DataPart> files;
  std::string DataOptions::*const places[] = {&DataOptions::train, &DataOptions::val, &DataOptions::test};
  for (const Split split : enum_values<Split>()) {
    std::string& place = report.data.*places[static_cast<size_t>(split)];
    place.clear();
    if (static_cast<size_t>(split) >= shares.size()) continue;
    report.parts.push_back(count(dataset, division, split));
    const fs::path file =
        split_options.folder / (std::string(enum_name(split)) + options.format->written_extension);
    place = fs::absolute(file).lexically_normal().string();
    files.push_back({.file = place, .images = {}});
  }
  check_none_empty(report);
  for (size_t i = 0; i < dataset.images.size(); ++i)
    files[division.part[i]].images[joined.from[i]].push_back(&dataset.images[i]);
  for (const JoinedSplits::Addition& more : joined.additions)
    files[division.part[more.image]].images[more.split].push_back(&more.record);
  make_empty_folder(split_options.folder);
  write_parts(options, files);
  return report;
}

}  // namespace brightnet
