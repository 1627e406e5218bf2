// A plain fp64 reference of the YOLO loss. It shares no formula with kernels/math: boxes are intervals,
// probabilities come from std::exp, nothing is vectorised or skipped. What the loss holds constant
// (assignment, ignored predictions, smooth objectness targets) is computed once by targets(); the loss is
// then a smooth function of the logits, suitable for finite differences.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <vector>

#include "core/box.h"
#include "kernels/yolo.h"

namespace brightnet::reference {

struct Interval {
  double low, high;
  double length() const { return std::max(0.0, high - low); }
};

inline Interval both(Interval a, Interval b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}
inline Interval hull(Interval a, Interval b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

struct Box64 {
  double x, y, w, h;
  Box64(double x, double y, double w, double h) : x(x), y(y), w(w), h(h) {}
  explicit Box64(const Box& b) : x(b.x), y(b.y), w(b.w), h(b.h) {}
  Interval across() const { return {x - w / 2, x + w / 2}; }
  Interval down() const { return {y - h / 2, y + h / 2}; }
  double area() const { return w * h; }
};

inline double iou(const Box64& a, const Box64& b) {
  const double shared = both(a.across(), b.across()).length() * both(a.down(), b.down()).length();
  return shared / (a.area() + b.area() - shared);
}

/// 1 − value for the IoU kinds; the squared error on a grid for mse.
inline double box_loss(IouKind kind, const Box64& p, const Box64& t, double grid_w, double grid_h) {
  if (kind == IouKind::mse) {
    const double squares = std::pow((p.x - t.x) * grid_w, 2) + std::pow((p.y - t.y) * grid_h, 2) +
                           std::pow(std::log(p.w / t.w), 2) + std::pow(std::log(p.h / t.h), 2);
    return (2 - t.area()) / 2 * squares;
  }
  const double overlap = iou(p, t);
  const double enclosing_w = hull(p.across(), t.across()).length();
  const double enclosing_h = hull(p.down(), t.down()).length();
  if (kind == IouKind::iou) return 1 - overlap;
  if (kind == IouKind::giou) {
    const double either = (p.area() + t.area()) / (1 + overlap);
    const double enclosing = enclosing_w * enclosing_h;
    return 1 - overlap + (enclosing - either) / enclosing;
  }
  const double distance = (std::pow(p.x - t.x, 2) + std::pow(p.y - t.y, 2)) /
                          (std::pow(enclosing_w, 2) + std::pow(enclosing_h, 2));
  if (kind == IouKind::diou) return 1 - overlap + distance;
  const double v =
      4 / (std::numbers::pi * std::numbers::pi) * std::pow(std::atan(p.w / p.h) - std::atan(t.w / t.h), 2);
  const double alpha = v > 0 ? v / (1 - overlap + v) : 0;
  return 1 - overlap + distance + alpha * v;
}

inline double sigmoid(double t) {
  return 1 / (1 + std::exp(-t));
}

/// −y·ln p − (1 − y)·ln(1 − p), times |p − y|^γ.
inline double cross_entropy(double t, double y, double gamma = 0) {
  const double p = sigmoid(t), q = sigmoid(-t);
  return std::pow(std::fabs(p - y), gamma) * (-y * std::log(p) - (1 - y) * std::log(q));
}

/// The target of one prediction.
struct Target {
  int truth = -1;         ///< index among the image's truths, or −1
  std::set<int> classes;  ///< of all truths assigned to it
  double objectness = 0, weight = 0;
};

struct Sums {
  double box = 0, objectness = 0, classes = 0, iou = 0, assigned = 0;
  double loss() const { return box + objectness + classes; }
};

class Loss {
 public:
  Loss(const YoloHead& head, int images, int rows, int columns, std::vector<std::vector<Truth>> truths)
      : head_(head), images_(images), rows_(rows), columns_(columns), truths_(std::move(truths)) {}

  /// One entry a prediction, in memory order: image, row, column, anchor of the mask.
  std::vector<Target> targets(const std::vector<double>& predictions) const {
    std::vector<Target> all;
    for_each([&](int image, int row, int column, int slot, size_t at) {
      const std::vector<Claim> claims = head_.assignment == AssignmentKind::simota
                                            ? claims_by_prediction(image, row, column, slot, predictions)
                                            : claims_by_size(image, row, column, slot);
      all.push_back(target(image, claims, decode(predictions, row, column, slot, at)));
    });
    return all;
  }

  Sums sums(const std::vector<double>& predictions, const std::vector<Target>& targets) const {
    Sums s;
    size_t index = 0;
    for_each([&](int image, int row, int column, int slot, size_t at) {
      const Target& target = targets[index++];
      s.objectness +=
          target.weight * cross_entropy(predictions[at + 4], target.objectness, head_.objectness_gamma);
      if (target.truth < 0) return;
      const Box64 truth(truths_[image][target.truth].box);
      const Box64 box = decode(predictions, row, column, slot, at);
      s.box += head_.box_weight * box_loss(head_.iou_kind, box, truth, columns_, rows_);
      s.iou += iou(box, truth);
      s.assigned += 1;
      for (int c = 0; c < head_.classes; ++c) {
        const bool positive = target.classes.count(c) > 0;
        const double y = positive ? 1 - head_.label_smoothing / 2.0 : head_.label_smoothing / 2.0;
        const double factor = positive && head_.class_weights ? head_.class_weights[c] : 1.0;
        s.classes +=
            head_.class_weight * factor * cross_entropy(predictions[at + 5 + c], y, head_.focal_gamma);
      }
    });
    return s;
  }

 private:
  template <typename F>
  void for_each(F&& visit) const {
    size_t at = 0;
    for (int image = 0; image < images_; ++image)
      for (int row = 0; row < rows_; ++row)
        for (int column = 0; column < columns_; ++column)
          for (int slot = 0; slot < head_.mask_count; ++slot, at += 5 + static_cast<size_t>(head_.classes))
            visit(image, row, column, slot, at);
  }

  Box64 anchor(int index) const {
    return {0, 0, double{head_.anchors[index].w} / head_.input_width,
            double{head_.anchors[index].h} / head_.input_height};
  }

  Box64 decode(const std::vector<double>& t, int row, int column, int slot, size_t at) const {
    const double s = head_.scale_xy;
    const Box64 a = anchor(head_.mask[slot]);
    const auto size = [&](double logit) {
      return head_.new_coords ? std::pow(2 * sigmoid(logit), 2) : std::exp(logit);
    };
    return {(sigmoid(t[at]) * s - (s - 1) / 2 + column) / columns_,
            (sigmoid(t[at + 1]) * s - (s - 1) / 2 + row) / rows_, a.w * size(t[at + 2]),
            a.h * size(t[at + 3])};
  }

  double fit(int anchor_index, const Truth& truth) const {
    return iou(anchor(anchor_index), Box64(0, 0, truth.box.w, truth.box.h));
  }

  /// A truth that is assigned to a prediction, and how well they fit.
  struct Claim {
    int truth;
    double fit;
  };

  /// Whether a cell takes a truth. With neighbours, a prediction reaches half a cell beyond its own.
  bool takes(int row, int column, const Truth& truth) const {
    const int truth_column = std::min(static_cast<int>(std::floor(truth.box.x * columns_)), columns_ - 1);
    const int truth_row = std::min(static_cast<int>(std::floor(truth.box.y * rows_)), rows_ - 1);
    if (head_.assignment == AssignmentKind::best_anchor) return row == truth_row && column == truth_column;
    const double x = std::fabs(double{truth.box.x} * columns_ - (column + 0.5));
    const double y = std::fabs(double{truth.box.y} * rows_ - (row + 0.5));
    return (row == truth_row && x < 1) || (column == truth_column && y < 1);
  }

  bool answers(int row, int column, int anchor_index, const Truth& truth) const {
    if (truth.box.w <= 0 || truth.box.h <= 0 || !takes(row, column, truth)) return false;
    std::vector<double> fits;
    for (int a = 0; a < head_.anchor_count; ++a) fits.push_back(fit(a, truth));
    if (std::max_element(fits.begin(), fits.end()) - fits.begin() == anchor_index) return true;
    if (head_.assignment == AssignmentKind::best_anchor)
      return head_.iou_threshold < 1 && fits[anchor_index] > head_.iou_threshold;
    const double w = anchor(anchor_index).w / truth.box.w, h = anchor(anchor_index).h / truth.box.h;
    return std::max({w, 1 / w, h, 1 / h}) < head_.anchor_ratio;
  }

  std::vector<Claim> claims_by_size(int image, int row, int column, int slot) const {
    std::vector<Claim> claims;
    for (size_t t = 0; t < truths_[image].size(); ++t) {
      if (answers(row, column, head_.mask[slot], truths_[image][t]))
        claims.push_back({static_cast<int>(t), fit(head_.mask[slot], truths_[image][t])});
    }
    return claims;
  }

  /// Every truth takes the floor(sum of IoUs), at least one, most suitable of the predictions that neighbours
  /// would assign it to. A prediction that several truths take keeps the one it suits best, and no other's class.
  std::vector<Claim> claims_by_prediction(int image, int row, int column, int slot,
                                          const std::vector<double>& t) const {
    std::vector<Claim> claims;
    for (size_t index = 0; index < truths_[image].size(); ++index) {
      const Truth& truth = truths_[image][index];
      double sum = 0, own = -1;
      std::vector<double> fits;
      for_each([&](int n, int r, int c, int s, size_t at) {
        if (n != image || !answers(r, c, head_.mask[s], truth)) return;
        const double overlap = iou(decode(t, r, c, s, at), Box64(truth.box));
        const double probabilities = sigmoid(t[at + 4]) * sigmoid(t[at + 5 + truth.class_id]);
        const double cost = -3 * std::log(std::max(overlap, 1e-8)) - std::log(probabilities) / 2;
        sum += overlap;
        fits.push_back(1 / (1 + cost));
        if (r == row && c == column && s == slot) own = fits.back();
      });
      const auto better = std::count_if(fits.begin(), fits.end(), [&](double fit) { return fit > own; });
      if (own >= 0 && better < std::max(1.0, std::floor(sum)))
        claims.push_back({static_cast<int>(index), own});
    }
    const auto best = std::max_element(claims.begin(), claims.end(),
                                       [](const Claim& a, const Claim& b) { return a.fit < b.fit; });
    return claims.empty() ? claims : std::vector<Claim>{*best};
  }

  Target target(int image, const std::vector<Claim>& claims, const Box64& box) const {
    Target result;
    double best_fit = -1, best_iou = 0;
    const std::vector<Truth>& truths = truths_[image];
    for (const Truth& truth : truths) {
      if (truth.box.w > 0 && truth.box.h > 0) best_iou = std::max(best_iou, iou(box, Box64(truth.box)));
    }
    for (const Claim& claim : claims) {
      result.classes.insert(truths[claim.truth].class_id);
      if (claim.fit > best_fit) {
        best_fit = claim.fit;
        result.truth = claim.truth;
      }
    }
    result.weight = head_.objectness_weight;
    if (result.truth >= 0) {
      result.objectness = head_.objectness_smooth ? iou(box, Box64(truths[result.truth].box)) : 1;
    } else if (best_iou > head_.truth_threshold) {
      result.objectness = 1;
    } else {
      result.weight *= best_iou > head_.ignore_threshold ? 0 : head_.negative_weight;
    }
    return result;
  }

  YoloHead head_;
  int images_, rows_, columns_;
  std::vector<std::vector<Truth>> truths_;
};

}  // namespace brightnet::reference
