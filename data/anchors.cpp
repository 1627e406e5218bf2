#include "data/anchors.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/random.h"

namespace brightnet {
namespace {

// Beyond this many boxes every n-th is taken: the shapes are the same and COCO's 860,000 need not be waited
// for.
constexpr size_t most_boxes = 200000;

std::vector<BoxShape> shapes_of(const Dataset& dataset, const AnchorOptions& options) {
  std::vector<BoxShape> shapes;
  for (const auto& image : dataset.images) {
    double x = static_cast<double>(options.size) / image.width;
    double y = static_cast<double>(options.size) / image.height;
    if (options.letterbox) x = y = std::min(x, y);
    for (const auto& a : image.annotations) {
      if (!a.crowd) shapes.push_back({(a.x2 - a.x1) * x, (a.y2 - a.y1) * y});
    }
  }
  const size_t step = (shapes.size() + most_boxes - 1) / most_boxes;
  if (step <= 1) return shapes;
  std::vector<BoxShape> sample;
  for (size_t i = 0; i < shapes.size(); i += step) sample.push_back(shapes[i]);
  return sample;
}

// A uniform double from two draws, since a float cannot single out one of 200,000 weights.
double uniform(Random& random) {
  return (random() * 0x1p32 + random()) * 0x1p-64;
}

// k-means++ (Arthur and Vassilvitskii 2007): each next centre is drawn with the square of its distance to the
// nearest so far, so that no two start in one cluster.
std::vector<BoxShape> spread_centres(const std::vector<BoxShape>& shapes, int count, Random& random) {
  std::vector<BoxShape> centres{shapes[random.below(static_cast<uint32_t>(shapes.size()))]};
  std::vector<double> distance(shapes.size(), 1.0);
  while (std::ssize(centres) < count) {
    double total = 0;
    for (size_t i = 0; i < shapes.size(); ++i) {
      distance[i] = std::min(distance[i], 1 - shape_iou(shapes[i], centres.back()));
      total += distance[i] * distance[i];
    }
    double left = uniform(random) * total;
    size_t chosen = 0;
    for (size_t i = 0; i < shapes.size() && left >= 0; ++i) {
      if (distance[i] <= 0) continue;
      chosen = i;
      left -= distance[i] * distance[i];
    }
    centres.push_back(shapes[chosen]);
  }
  return centres;
}

struct Assignment {
  std::vector<int> nearest;
  std::vector<double> iou;
};

Assignment assign(const std::vector<BoxShape>& shapes, const std::vector<BoxShape>& centres) {
  Assignment out{std::vector<int>(shapes.size()), std::vector<double>(shapes.size())};
#pragma omp parallel for
  for (size_t i = 0; i < shapes.size(); ++i) {
    out.iou[i] = -1;
    for (size_t k = 0; k < centres.size(); ++k) {
      const double iou = shape_iou(shapes[i], centres[k]);
      if (iou <= out.iou[i]) continue;
      out.iou[i] = iou;
      out.nearest[i] = static_cast<int>(k);
    }
  }
  return out;
}

double mean(const std::vector<double>& values) {
  double sum = 0;  // one after the other, so that the number of threads does not change the last bit
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Lloyd's iterations. The mean width and height are not the exact minimiser under 1 − IoU, so an iteration
// may step back; the best centres on the way are kept.
std::vector<BoxShape> improve(const std::vector<BoxShape>& shapes, std::vector<BoxShape> centres,
                              double& best_iou) {
  std::vector<BoxShape> best = centres;
  std::vector<int> previous;
  best_iou = -1;
  constexpr int most_iterations = 300;
  for (int iteration = 0; iteration < most_iterations; ++iteration) {
    Assignment assignment = assign(shapes, centres);
    if (const double iou = mean(assignment.iou); iou > best_iou) {
      best_iou = iou;
      best = centres;
    }
    if (assignment.nearest == previous) break;
    std::vector<BoxShape> sum(centres.size());
    std::vector<size_t> members(centres.size());
    for (size_t i = 0; i < shapes.size(); ++i) {
      const auto k = static_cast<size_t>(assignment.nearest[i]);
      sum[k].width += shapes[i].width;
      sum[k].height += shapes[i].height;
      ++members[k];
    }
    for (size_t k = 0; k < centres.size(); ++k) {
      if (members[k] == 0) continue;  // a centre that nobody is nearest to stays where it is
      const auto n = static_cast<double>(members[k]);
      centres[k] = {sum[k].width / n, sum[k].height / n};
    }
    previous = std::move(assignment.nearest);
  }
  return best;
}

void check_options(const std::vector<BoxShape>& shapes, const AnchorOptions& options) {
  if (options.count < 1 || options.size < 1 || options.restarts < 1) {
    throw InputError("the number of anchors, the size and the restarts must be at least 1");
  }
  std::set<std::pair<double, double>> different;
  for (const auto& shape : shapes) {
    different.insert({shape.width, shape.height});
    if (std::ssize(different) >= options.count) return;
  }
  throw InputError(
      fmt::format("{} anchors were asked for, but the data has boxes of only {} different shapes",
                  options.count, different.size()),
      "", "Ask for fewer anchors or label more images.");
}

}  // namespace

double shape_iou(const BoxShape& a, const BoxShape& b) {
  const double intersection = std::min(a.width, b.width) * std::min(a.height, b.height);
  return intersection / (a.width * a.height + b.width * b.height - intersection);
}

AnchorResult find_anchors(const Dataset& dataset, const AnchorOptions& options) {
  const std::vector<BoxShape> shapes = shapes_of(dataset, options);
  check_options(shapes, options);
  AnchorResult out;
  out.boxes = shapes.size();
  for (int restart = 0; restart < options.restarts; ++restart) {
    Random random(options.seed, Purpose::anchors, 0, static_cast<uint64_t>(restart));
    double iou = 0;
    std::vector<BoxShape> centres = improve(shapes, spread_centres(shapes, options.count, random), iou);
    if (restart > 0 && iou <= out.mean_iou) continue;
    out.mean_iou = iou;
    out.anchors = std::move(centres);
  }
  std::sort(out.anchors.begin(), out.anchors.end(),
            [](const BoxShape& a, const BoxShape& b) { return a.width * a.height < b.width * b.height; });
  const Assignment assignment = assign(shapes, out.anchors);
  const auto found =
      std::count_if(assignment.iou.begin(), assignment.iou.end(), [](double iou) { return iou > 0.5; });
  out.recall_50 = static_cast<double>(found) / static_cast<double>(shapes.size());
  return out;
}

std::string AnchorResult::text() const {
  std::string list;
  for (const auto& a : anchors) {
    const auto pixels = [](double side) { return std::max(1L, std::lround(side)); };
    list += fmt::format("{}[{}, {}]", list.empty() ? "" : ", ", pixels(a.width), pixels(a.height));
  }
  return fmt::format("anchors: [{}]\n# of {} boxes: mean best IoU {:.3f}, {:.1f} % above 0.5\n", list, boxes,
                     mean_iou, 100 * recall_50);
}

nlohmann::json AnchorResult::json() const {
  nlohmann::json out{{"anchors", nlohmann::json::array()},
                     {"boxes", boxes},
                     {"mean_iou", mean_iou},
                     {"recall_50", recall_50}};
  for (const auto& a : anchors) out["anchors"].push_back({a.width, a.height});
  return out;
}

}  // namespace brightnet
