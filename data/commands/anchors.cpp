#include "data/commands/anchors.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/random.h"
#include "core/text.h"

namespace brightnet {
namespace {

// A uniform double from two draws, since a float cannot single out one of 200,000 weights.
double uniform(Random& random) {
  return (random() * 0x1p32 + random()) * 0x1p-64;
}

// k-means++ (Arthur and Vassilvitskii 2007): each next centre is drawn with the square of its distance to the
// nearest so far, so that no two start in one cluster.
std::vector<BoxShape> spread_centres(const std::vector<BoxShape>& shapes, int count, Random& random) {
  std::vector<BoxShape> centres{shapes[random.below(shapes.size())]};
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
  double sum = 0;  // sequential, so that the result does not depend on the number of threads
  for (const double value : values) sum += value;
  return sum / values.size();
}

// Lloyd's iterations. The mean width and height do not minimise 1 − IoU exactly, so an iteration may be
// worse; the best centres are kept.
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
      if (members[k] == 0) continue;  // a centre without members stays where it is
      const auto n = static_cast<double>(members[k]);
      centres[k] = {sum[k].width / n, sum[k].height / n};
    }
    previous = std::move(assignment.nearest);
  }
  return best;
}

double area(const BoxShape& shape) {
  return shape.width * shape.height;
}

struct Smaller {
  bool operator()(const BoxShape& a, const BoxShape& b) const {
    return std::pair(area(a), a.width) < std::pair(area(b), b.width);
  }
};
using Shapes = std::set<BoxShape, Smaller>;

BoxShape whole_pixels(const BoxShape& shape) {
  return {std::max(1.0, std::round(shape.width)), std::max(1.0, std::round(shape.height))};
}

// The shape between the two neighbours with the largest ratio of areas that have room for one; `ratio`
// returns that ratio.
std::optional<BoxShape> between_neighbours(const Shapes& shapes, double& ratio) {
  std::optional<BoxShape> best;
  ratio = 0;
  for (auto next = std::next(shapes.begin()); next != shapes.end(); ++next) {
    const BoxShape &low = *std::prev(next), &high = *next;
    const BoxShape middle =
        whole_pixels({std::sqrt(low.width * high.width), std::sqrt(low.height * high.height)});
    if (area(high) / area(low) <= ratio || shapes.contains(middle)) continue;
    ratio = area(high) / area(low);
    best = middle;
  }
  return best;
}

// Adds shapes where they are most likely to fit new boxes: into gaps of more than a factor of two in the
// sides, then alternately half an octave below the smallest and above the largest while they fit the input,
// then into smaller gaps.
void fill_up(Shapes& shapes, const AnchorOptions& options) {
  constexpr double wide_gap = 4;  // a ratio of areas
  const double step = std::sqrt(2.0);
  int above = 0, below = 0;
  while (std::ssize(shapes) < options.count) {
    double ratio = 0;
    const std::optional<BoxShape> middle = between_neighbours(shapes, ratio);
    if (middle && ratio > wide_gap) {
      shapes.insert(*middle);
      continue;
    }
    const BoxShape &smallest = *shapes.begin(), &largest = *shapes.rbegin();
    const BoxShape smaller = whole_pixels({smallest.width / step, smallest.height / step});
    const BoxShape larger = whole_pixels({std::max(largest.width * step, largest.width + 1),
                                          std::max(largest.height * step, largest.height + 1)});
    const bool room_below = !shapes.contains(smaller);
    const bool room_above = !shapes.contains(larger) && larger.width <= options.size.width &&
                            larger.height <= options.size.height;
    if (room_below && (below <= above || !room_above)) {
      shapes.insert(smaller);
      ++below;
    } else if (room_above) {
      shapes.insert(larger);
      ++above;
    } else if (middle) {
      shapes.insert(*middle);
    } else {
      throw InputError(fmt::format("an input of {} pixels has no room for {} different anchors",
                                   options.size.described(), options.count),
                       "", "Choose a larger size.");
    }
  }
}

size_t different(const std::vector<BoxShape>& shapes, size_t enough) {
  Shapes seen;
  for (const auto& shape : shapes) {
    seen.insert(shape);
    if (seen.size() >= enough) break;
  }
  return seen.size();
}

// The best of some k-means runs.
std::vector<BoxShape> cluster(const std::vector<BoxShape>& shapes, int count, const AnchorOptions& options) {
  std::vector<BoxShape> best;
  double best_iou = -1;
  for (int restart = 0; restart < options.restarts; ++restart) {
    Random random(options.seed, Purpose::anchors, 0, static_cast<uint64_t>(restart));
    double iou = 0;
    std::vector<BoxShape> centres = improve(shapes, spread_centres(shapes, count, random), iou);
    if (iou <= best_iou) continue;
    best_iou = iou;
    best = std::move(centres);
  }
  return best;
}

}  // namespace

std::vector<BoxShape> box_shapes(const Dataset& dataset, const AnchorOptions& options) {
  std::vector<BoxShape> shapes;
  for (const auto& image : dataset.images) {
    double x = static_cast<double>(options.size.width) / image.width;
    double y = static_cast<double>(options.size.height) / image.height;
    if (options.letterbox) x = y = std::min(x, y);
    for (const auto& a : image.annotations) {
      if (!a.crowd) shapes.push_back({(a.x2 - a.x1) * x, (a.y2 - a.y1) * y});
    }
  }
  const size_t step = (shapes.size() + options.most_boxes - 1) / options.most_boxes;
  if (step <= 1) return shapes;
  std::vector<BoxShape> sample;
  for (size_t i = 0; i < shapes.size(); i += step) sample.push_back(shapes[i]);
  return sample;
}

double shape_iou(const BoxShape& a, const BoxShape& b) {
  const double intersection = std::min(a.width, b.width) * std::min(a.height, b.height);
  return intersection / (a.width * a.height + b.width * b.height - intersection);
}

AnchorResult find_anchors(const Dataset& dataset, const AnchorOptions& options) {
  if (options.count < 1 || !options.size.given() || options.restarts < 1)
    throw InputError("the number of anchors, the size and the restarts must be at least 1");
  const std::vector<BoxShape> shapes = box_shapes(dataset, options);
  if (shapes.empty()) throw InputError("anchors are found from boxes, and the training split has none");
  const auto count = static_cast<int>(different(shapes, static_cast<size_t>(options.count)));
  Shapes anchors;
  for (const auto& centre : cluster(shapes, count, options)) anchors.insert(whole_pixels(centre));
  AnchorResult out;
  out.size = options.size;
  out.filled = options.count - static_cast<int>(anchors.size());
  fill_up(anchors, options);
  out.anchors.assign(anchors.begin(), anchors.end());
  out.boxes = shapes.size();
  const Assignment assignment = assign(shapes, out.anchors);
  out.mean_iou = mean(assignment.iou);
  const auto found =
      std::count_if(assignment.iou.begin(), assignment.iou.end(), [](double iou) { return iou > 0.5; });
  out.recall_50 = found / static_cast<double>(shapes.size());
  return out;
}

std::string AnchorResult::list() const {
  std::string text;
  for (const auto& a : anchors)
    text += fmt::format("{}[{}, {}]", text.empty() ? "" : ", ", a.width, a.height);
  return '[' + text + ']';
}

std::string AnchorResult::fit() const {
  std::string text = fmt::format("of {}, for an input of {}: mean best IoU {:.3f}, {:.1f} % above 0.5",
                                 counted(boxes, "box", "boxes"), size.described(), mean_iou, 100 * recall_50);
  if (filled > 0) {
    text += fmt::format("; {} added to the {} that the data has",
                        counted(static_cast<size_t>(filled), "shape", "shapes"), anchors.size() - filled);
  }
  return text;
}

std::string AnchorResult::text() const {
  return "anchors: " + list() + "\n# " + fit() + '\n';
}

nlohmann::json AnchorResult::json() const {
  nlohmann::json out{{"anchors", nlohmann::json::array()},
                     {"size", size},
                     {"filled", filled},
                     {"boxes", boxes},
                     {"mean_iou", mean_iou},
                     {"recall_50", recall_50}};
  for (const auto& a : anchors) out["anchors"].push_back({a.width, a.height});
  return out;
}

}  // namespace brightnet
