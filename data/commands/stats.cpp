#include "data/commands/stats.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/text.h"

namespace brightnet {
namespace {

nlohmann::json as_json(const Percentiles& p) {
  nlohmann::json out;
  for (size_t i = 0; i < p.ranks.size(); ++i) out[fmt::format("p{}", p.ranks[i])] = p.values[i];
  return out;
}

std::string row(const char* name, const Percentiles& p) {
  std::string line = fmt::format("{:<22}", name);
  for (const double value : p.values) line += fmt::format(" {:>8.4g}", value);
  return line + '\n';
}

}  // namespace

Percentiles percentiles(std::vector<double> values) {
  Percentiles out;
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  for (size_t i = 0; i < out.ranks.size(); ++i) {
    const double at = out.ranks[i] / 100.0 * (values.size() - 1);
    const auto below = static_cast<size_t>(at);
    const size_t above = std::min(below + 1, values.size() - 1);
    out.values[i] = std::lerp(values[below], values[above], at - below);
  }
  return out;
}

DatasetStats dataset_stats(const Dataset& dataset) {
  DatasetStats out;
  out.images = dataset.images.size();
  for (const auto& name : dataset.classes) out.classes.push_back({name});
  std::vector<double> image_widths, image_heights, widths, heights, shares, counts;
  for (const auto& image : dataset.images) {
    image_widths.push_back(image.width);
    image_heights.push_back(image.height);
    counts.push_back(static_cast<double>(image.annotations.size()));
    out.background += image.annotations.empty();
    std::vector<bool> seen(out.classes.size());
    for (const auto& a : image.annotations) {
      const double width = a.x2 - a.x1, height = a.y2 - a.y1;
      widths.push_back(width);
      heights.push_back(height);
      shares.push_back(std::sqrt(width * height / image.width / image.height));
      ++out.boxes;
      out.crowds += a.crowd;
      out.difficult += a.difficult;
      ++(a.area < 32 * 32 ? out.small : a.area < 96 * 96 ? out.medium : out.large);
      const auto id = static_cast<size_t>(a.class_id);
      ++out.classes.at(id).boxes;
      if (!seen[id]) ++out.classes[id].images;
      seen[id] = true;
    }
  }
  out.image_width = percentiles(std::move(image_widths));
  out.image_height = percentiles(std::move(image_heights));
  out.box_width = percentiles(std::move(widths));
  out.box_height = percentiles(std::move(heights));
  out.box_share = percentiles(std::move(shares));
  out.boxes_per_image = percentiles(std::move(counts));
  return out;
}

std::string DatasetStats::text() const {
  std::string out = fmt::format("{} ({} without objects), {}", counted(images, "image", "images"), background,
                                counted(boxes, "box", "boxes"));
  if (crowds) out += fmt::format(", {} of them crowds", crowds);
  if (difficult) out += fmt::format(", {} of them difficult", difficult);
  out += fmt::format("\n{} small (area below 32² pixels), {} medium (below 96²), {} large\n\n", small, medium,
                     large);
  out += fmt::format("{:<22} {:>8} {:>8}\n", "class", "boxes", "images");
  constexpr size_t most_rows = 100;
  const size_t rows = std::min(classes.size(), most_rows);
  for (size_t i = 0; i < rows; ++i)
    out += fmt::format("{:<22} {:>8} {:>8}\n", classes[i].name, classes[i].boxes, classes[i].images);
  if (classes.size() > rows)
    out += fmt::format("… and {} more classes, which --json lists\n", classes.size() - rows);
  out += fmt::format("\n{:<22}", "percentile");
  for (const int rank : Percentiles::ranks) out += fmt::format(" {:>8}", rank);
  out += '\n';
  out += row("image width", image_width) + row("image height", image_height) + row("box width", box_width) +
         row("box height", box_height) + row("box side / image side", box_share) +
         row("boxes per image", boxes_per_image);
  return out;
}

nlohmann::json DatasetStats::json() const {
  nlohmann::json out{{"images", images},
                     {"background", background},
                     {"boxes", boxes},
                     {"crowds", crowds},
                     {"difficult", difficult},
                     {"classes", nlohmann::json::array()},
                     {"small", small},
                     {"medium", medium},
                     {"large", large},
                     {"image_width", as_json(image_width)},
                     {"image_height", as_json(image_height)},
                     {"box_width", as_json(box_width)},
                     {"box_height", as_json(box_height)},
                     {"box_share", as_json(box_share)},
                     {"boxes_per_image", as_json(boxes_per_image)}};
  for (const auto& c : classes)
    out["classes"].push_back({{"name", c.name}, {"boxes", c.boxes}, {"images", c.images}});
  return out;
}

}  // namespace brightnet
