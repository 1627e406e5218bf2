// A small YOLO head with predictions and truths, and a call of the CPU's loss on them.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/kernels/on_cpu.h"

namespace brightnet {

/// How tests with parameters are listed.
inline void PrintTo(IouKind kind, std::ostream* out) {
  constexpr const char* names[] = {"mse", "iou", "giou", "diou", "ciou"};
  *out << names[static_cast<size_t>(kind)];
}

/// The same in the names of tests.
inline std::string loss_kind_name(IouKind kind, bool new_coords) {
  constexpr const char* names[] = {"Mse", "Iou", "Giou", "Diou", "Ciou"};
  return std::string(names[static_cast<size_t>(kind)]) + (new_coords ? "NewCoords" : "Exp");
}

/// A head, its predictions and truths, and the loss's results.
struct Problem {
  YoloHead head;
  Shape shape;
  std::vector<float> predictions;
  std::vector<std::vector<Truth>> truths;
  GradientScale scale;
  LossTotals* totals = nullptr;

  YoloLoss loss;
  std::vector<float> gradient;

  /// Three small anchors of which the last two are this head's; a grid that is not square.
  explicit Problem(int images = 1, int rows = 4, int columns = 5, int classes = 3) : truths(images) {
    head.classes = classes;
    head.input_width = 160;
    head.input_height = 128;
    head.anchor_count = 3;
    head.anchors[0] = {12, 14};
    head.anchors[1] = {40, 30};
    head.anchors[2] = {70, 90};
    head.mask_count = 2;
    head.mask[0] = 1;
    head.mask[1] = 2;
    shape = {images, rows, columns, head.channels()};
    predictions.assign(shape.count(), 0.0f);
  }

  void randomize(uint64_t seed, float spread) {
    Random random(seed, Purpose::test);
    for (float& t : predictions) t = spread * random.normal();
  }

  /// All three anchors, for so many classes.
  void use_all_anchors(int classes) {
    head.classes = classes;
    head.mask_count = 3;
    for (int slot = 0; slot < 3; ++slot) head.mask[slot] = slot;
    shape.c = head.channels();
    predictions.assign(shape.count(), 0.0f);
  }

  size_t index(int image, int row, int column, int slot, int value = 0) const {
    return (((static_cast<size_t>(image) * shape.h + row) * shape.w + column) * head.mask_count + slot) *
               head.values() +
           value;
  }

  /// Every operand has memory of exactly its size, so that the address sanitizer detects overruns.
  template <typename T = float>
  void run() {
    std::vector<Truth> list;
    std::vector<int> offsets{0};
    for (const auto& image : truths) {
      list.insert(list.end(), image.begin(), image.end());
      offsets.push_back(static_cast<int>(list.size()));
    }
    std::vector<T> typed(predictions.size()), typed_gradient(predictions.size(), T(7.0f));
    for (size_t i = 0; i < typed.size(); ++i) typed[i] = T(predictions[i]);
    const DType type = sizeof(T) == 4 ? DType::f32 : DType::bf16;
    std::vector<double> workspace((on_cpu().yolo_workspace(head, shape) + 7) / 8);
    on_cpu().yolo_loss(head, {.predictions = {typed.data(), shape, type},
                              .gradient = {typed_gradient.data(), shape, type},
                              .truths = {list.data(), offsets.data()},
                              .scale = scale,
                              .loss = &loss,
                              .totals = totals,
                              .workspace = workspace.data()});
    gradient.resize(typed_gradient.size());
    for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<float>(typed_gradient[i]);
  }

  /// Predictions with a box gradient, as "image row column slot" numbers.
  std::vector<std::vector<int>> assigned() const {
    std::vector<std::vector<int>> found;
    for (int n = 0; n < shape.n; ++n)
      for (int r = 0; r < shape.h; ++r)
        for (int c = 0; c < shape.w; ++c)
          for (int s = 0; s < head.mask_count; ++s)
            if (gradient[index(n, r, c, s, 2)] != 0) found.push_back({n, r, c, s});
    return found;
  }
};

/// A set of the loss's options that tests go through.
struct LossOptions {
  const char* name;
  void (*set)(YoloHead&);
};
inline constexpr float weights_of_classes[] = {0.5f, 2.0f, 3.0f};
inline const LossOptions loss_option_sets[] = {
    {"Plain", [](YoloHead&) {}},
    {"Weights",
     [](YoloHead& h) {
       h.box_weight = 2.5f, h.objectness_weight = 0.7f, h.class_weight = 0.4f, h.negative_weight = 0.3f;
       h.class_weights = weights_of_classes;
     }},
    {"MoreAnchors", [](YoloHead& h) { h.iou_threshold = 0.213f, h.label_smoothing = 0.1f; }},
    {"FocalTwo", [](YoloHead& h) { h.focal_gamma = 2.0f, h.iou_threshold = 0.3f; }},
    {"FocalSmoothed", [](YoloHead& h) { h.focal_gamma = 1.5f, h.label_smoothing = 0.2f; }},
    {"SmoothObjectness",
     [](YoloHead& h) { h.objectness_smooth = true, h.ignore_threshold = 0.3f, h.truth_threshold = 0.5f; }},
    {"QualityFocal", [](YoloHead& h) { h.objectness_smooth = true, h.objectness_gamma = 1.5f; }},
    {"Neighbours",
     [](YoloHead& h) {
       h.assignment = AssignmentKind::neighbours, h.anchor_ratio = 3.0f, h.objectness_smooth = true;
     }},
    {"Simota",
     [](YoloHead& h) {
       h.assignment = AssignmentKind::simota, h.objectness_smooth = true,
       h.class_weights = weights_of_classes;
     }},
};

}  // namespace brightnet
