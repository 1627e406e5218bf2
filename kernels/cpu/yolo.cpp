// The YOLO loss on the CPU. Nearly all predictions are background, for which only the objectness logit and,
// for the ignore rule, the box matter. So a row of cells is processed anchor by anchor: five logits of each
// prediction are gathered into short arrays, and boxes, IoUs and objectness are vector loops over these. The
// few predictions with a truth are processed one by one. Every row has its own slot for its sums, and the
// slots are added in order, so the result does not depend on the threads.
#include "kernels/math/yolo.h"

#include <algorithm>
#include <cfloat>
#include <cstdint>
#include <string>

#include "core/alignment.h"
#include "core/error.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/math/box.h"
#include "kernels/math/loss.h"
#include "kernels/math/loss_scaler.h"

namespace brightnet::cpu {
namespace {

/// The truth that is assigned to a prediction, how well the two suit each other, and how many competed for it.
struct Assignment {
  int32_t truth = -1;
  int32_t candidates = 0;
  float suitability = 0;
};

struct Sums {
  double box = 0, objectness = 0, classes = 0, iou = 0, assigned = 0;

  Sums& operator+=(const Sums& other) {
    box += other.box;
    objectness += other.objectness;
    classes += other.classes;
    iou += other.iou;
    assigned += other.assigned;
    return *this;
  }
};

/// Shared by all rows of a batch. `assignments` has one entry per prediction, in the order of the tensor.
struct Batch {
  const YoloHead& head;
  Shape shape;
  TruthList truths;
  float gradient_scale;
  Assignment* assignments;

  std::span<const Truth> truths_of(int image) const {
    return {truths.truths + truths.offsets[image], truths.truths + truths.offsets[image + 1]};
  }
  size_t first_prediction(int image, int row) const {
    return (static_cast<size_t>(image) * shape.h + row) * shape.w * head.mask_count;
  }
};

/// Truths that compete for one prediction: the most suitable gets it, the first of equals.
void compete(Assignment& assignment, size_t truth, float suitability) {
  if (assignment.truth < 0 || suitability > assignment.suitability) {
    assignment.truth = static_cast<int32_t>(truth);
    assignment.suitability = suitability;
  }
  ++assignment.candidates;
}

/// Assigns by the sizes of truths and anchors alone, for best_anchor and neighbours. The truth whose size has the highest IoU
/// with the anchor's is the most suitable.
void assign_by_size(const Batch& batch, const Truth& truth, size_t index, Assignment* assignments) {
  const YoloHead& head = batch.head;
  const int best = best_anchor(head, truth.box);
  const AssignedCells cells = assigned_cells(head, truth.box, batch.shape.w, batch.shape.h);
  for (int slot = 0; slot < head.mask_count; ++slot) {
    if (!is_assigned(head, truth.box, head.mask[slot], best)) continue;
    const float fit = size_iou(relative_anchor(head, head.mask[slot]), truth.box);
    for (int i = 0; i < cells.count; ++i) {
      const size_t cell = static_cast<size_t>(cells.row[i]) * batch.shape.w + cells.column[i];
      compete(assignments[cell * head.mask_count + slot], index, fit);
    }
  }
}

/// Assigns by the predictions, for simota. `predictions` are the image's.
template <typename T>
void assign_by_prediction(const Batch& batch, const Truth& truth, size_t index, const T* predictions,
                          Assignment* assignments) {
  const YoloHead& head = batch.head;
  const Candidates found =
      find_candidates(head, truth, batch.shape.w, batch.shape.h, [&](int cell, int slot) {
        return predictions + (static_cast<size_t>(cell) * head.mask_count + slot) * head.values();
      });
  for (int i = 0; i < found.taken; ++i)
    compete(assignments[static_cast<size_t>(found.cell[i]) * head.mask_count + found.slot[i]], index,
            found.suitability[i]);
}

template <typename T>
void assign_truths(const Batch& batch, int image, const T* predictions) {
  const YoloHead& head = batch.head;
  const size_t first = batch.first_prediction(image, 0);
  Assignment* assignments = batch.assignments + first;
  std::fill_n(assignments, static_cast<size_t>(batch.shape.h) * batch.shape.w * head.mask_count,
              Assignment{});
  const std::span<const Truth> truths = batch.truths_of(image);
  for (size_t t = 0; t < truths.size(); ++t) {
    if (!is_usable(truths[t].box)) continue;
    if (reads_predictions(head.assignment)) {
      assign_by_prediction(batch, truths[t], t, predictions + first * head.values(), assignments);
    } else {
      assign_by_size(batch, truths[t], t, assignments);
    }
  }
}

/// Predictions of one anchor in neighbouring cells of a row.
constexpr int chunk_size = 64;

/// Loops over a chunk run to `padded`, a whole number of the widest vectors: rows are short, and a scalar
/// remainder would cost more than the vectors. The padding is predictions of logits 0 and weight 0.
struct Chunk {
  static constexpr int vector = 16;

  explicit Chunk(int predictions) : count(predictions), padded((predictions + vector - 1) / vector * vector) {
    for (auto& values : logits) std::fill(values + count, values + padded, 0.0f);
    std::fill(target + count, target + padded, 0.0f);
    std::fill(weight + count, weight + padded, 0.0f);
  }

  int count, padded;
  float logits[5][chunk_size];                                           ///< x, y, w, h, objectness
  float best_iou[chunk_size];                                            ///< highest IoU with any truth
  float target[chunk_size], weight[chunk_size], derivative[chunk_size];  ///< objectness loss
};
static_assert(chunk_size % Chunk::vector == 0);

/// The place of a chunk.
struct Place {
  int image, row, first_column, slot;
};

struct Corners {
  float left[chunk_size], right[chunk_size], top[chunk_size], bottom[chunk_size], area[chunk_size];
};

void decode_corners(const Batch& batch, const Place& place, const Chunk& chunk, Corners& corners) {
  const YoloHead& head = batch.head;
  const Box anchor = relative_anchor(head, head.mask[place.slot]);
  const float grid_w = batch.shape.w, grid_h = batch.shape.h;
  const float row = place.row, column = place.first_column;
  const float scale_xy = head.scale_xy;
  const bool new_coords = head.new_coords;
#pragma omp simd
  for (int i = 0; i < chunk.padded; ++i) {
    const float x = decode_center(chunk.logits[0][i], column + static_cast<float>(i), grid_w, scale_xy);
    const float y = decode_center(chunk.logits[1][i], row, grid_h, scale_xy);
    const float w = decode_size(chunk.logits[2][i], anchor.w, new_coords);
    const float h = decode_size(chunk.logits[3][i], anchor.h, new_coords);
    corners.left[i] = x - 0.5f * w;
    corners.right[i] = x + 0.5f * w;
    corners.top[i] = y - 0.5f * h;
    corners.bottom[i] = y + 0.5f * h;
    corners.area[i] = w * h;
  }
}

/// The extent of all boxes of a chunk, to pass over truths that none of them can be near to.
struct Extent {
  float left, right, top, bottom, smallest_box, largest_box;
};

Extent extent_of(const Corners& corners, int count) {
  float left = FLT_MAX, right = -FLT_MAX, top = FLT_MAX, bottom = -FLT_MAX, smallest = FLT_MAX, largest = 0;
#pragma omp simd reduction(min : left, top, smallest) reduction(max : right, bottom, largest)
  for (int i = 0; i < count; ++i) {
    left = std::min(left, corners.left[i]);
    right = std::max(right, corners.right[i]);
    top = std::min(top, corners.top[i]);
    bottom = std::max(bottom, corners.bottom[i]);
    smallest = std::min(smallest, corners.area[i]);
    largest = std::max(largest, corners.area[i]);
  }
  return {left, right, top, bottom, smallest, largest};
}

/// Fills best_iou; values that exceed neither threshold may be too low.
void find_best_ious(const Batch& batch, const Place& place, Chunk& chunk) {
  std::fill_n(chunk.best_iou, chunk.padded, 0.0f);
  const std::span<const Truth> truths = batch.truths_of(place.image);
  const float threshold = std::min(batch.head.ignore_threshold, batch.head.truth_threshold);
  if (truths.empty() || threshold >= 1.0f) return;
  Corners corners;
  decode_corners(batch, place, chunk, corners);
  const Extent extent = extent_of(corners, chunk.padded);
  for (const Truth& truth : truths) {
    const Box& box = truth.box;
    const float left = box.x - 0.5f * box.w, right = box.x + 0.5f * box.w;
    const float top = box.y - 0.5f * box.h, bottom = box.y + 0.5f * box.h, area = box.w * box.h;
    // An IoU is at most the smaller area over the larger.
    const bool near = left < extent.right && right > extent.left && top < extent.bottom &&
                      bottom > extent.top && area > threshold * extent.smallest_box &&
                      area * threshold < extent.largest_box;
    if (!near || !is_usable(box)) continue;
#pragma omp simd
    for (int i = 0; i < chunk.padded; ++i) {
      const float w = std::min(right, corners.right[i]) - std::max(left, corners.left[i]);
      const float h = std::min(bottom, corners.bottom[i]) - std::max(top, corners.top[i]);
      const float shared = std::max(w, 0.0f) * std::max(h, 0.0f);
      const float value = shared / std::max(area + corners.area[i] - shared, smallest_area);
      chunk.best_iou[i] = std::max(chunk.best_iou[i], value);
    }
  }
}

/// Box loss of a prediction and its truth; adds the gradient of its four logits.
template <typename T>
float add_box_loss(const Batch& batch, const Place& place, int column, const float (&logits)[4],
                   const Truth& truth, T* gradient, Sums& sums) {
  const BoxTerm term = box_term(batch.head, batch.head.mask[place.slot], column, place.row, batch.shape.w,
                                batch.shape.h, logits, truth.box);
  for (int k = 0; k < 4; ++k) gradient[k] = static_cast<T>(batch.gradient_scale * term.derivative[k]);
  sums.box += term.value;
  sums.iou += term.iou;
  sums.assigned += 1;
  return term.iou;
}

/// Marks the positive classes among [first, first + count) of a prediction: its truth's, and those of the
/// truths that competed for it and lost (but for simota, where a truth has better predictions).
void mark_classes(const Batch& batch, const Place& place, int column, const Assignment& assignment, int first,
                  int count, bool (&positive)[chunk_size]) {
  std::fill_n(positive, count, false);
  const std::span<const Truth> truths = batch.truths_of(place.image);
  const auto mark = [&](const Truth& truth) {
    if (truth.class_id >= first && truth.class_id < first + count) positive[truth.class_id - first] = true;
  };
  mark(truths[assignment.truth]);
  if (assignment.candidates < 2 || reads_predictions(batch.head.assignment)) return;
  for (const Truth& truth : truths) {
    if (is_assigned_in_cell(batch.head, truth.box, batch.head.mask[place.slot], column, place.row,
                            batch.shape.w, batch.shape.h))
      mark(truth);
  }
}

/// Class loss of a prediction that has a truth; writes the gradient of its class logits.
template <typename T>
void add_class_loss(const Batch& batch, const Place& place, int column, const Assignment& assignment,
                    const T* logits, T* gradient, Sums& sums) {
  const YoloHead& head = batch.head;
  for (int first = 0; first < head.classes; first += chunk_size) {
    const int count = std::min(chunk_size, head.classes - first);
    bool positive[chunk_size];
    mark_classes(batch, place, column, assignment, first, count, positive);
    float sum = 0;
    for (int i = 0; i < count; ++i) {
      const LossTerm term = class_term(head, first + i, static_cast<float>(logits[first + i]), positive[i]);
      sum += term.value;
      gradient[first + i] = static_cast<T>(batch.gradient_scale * term.derivative);
    }
    sums.classes += sum;
  }
}

/// Objectness of a whole chunk; leaves the derivatives.
float objectness_loss(const YoloHead& head, Chunk& chunk) {
  float sum = 0;
  if (head.objectness_gamma > 0) {  // not vectorised: it has a power
    for (int i = 0; i < chunk.count; ++i) {
      const LossTerm term = objectness_term(head, chunk.logits[4][i], chunk.target[i]);
      sum += chunk.weight[i] * term.value;
      chunk.derivative[i] = chunk.weight[i] * term.derivative;
    }
    return sum;
  }
#pragma omp simd reduction(+ : sum)
  for (int i = 0; i < chunk.padded; ++i) {
    const LossTerm term = cross_entropy(chunk.logits[4][i], chunk.target[i]);
    sum += chunk.weight[i] * term.value;
    chunk.derivative[i] = chunk.weight[i] * term.derivative;
  }
  return sum;
}

/// Adds one chunk's losses and writes its gradient: `predictions` and `gradient` point at the first cell's
/// prediction for this anchor, assignments at its assignment.
template <typename T>
void add_chunk(const Batch& batch, const Place& place, int count, const T* predictions, T* gradient,
               const Assignment* assignments, Sums& sums) {
  const YoloHead& head = batch.head;
  const size_t stride = head.channels();
  Chunk chunk(count);
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < 5; ++k) chunk.logits[k][i] = static_cast<float>(predictions[i * stride + k]);
  find_best_ious(batch, place, chunk);
  for (int i = 0; i < count; ++i) {
    const Assignment& assignment = assignments[static_cast<size_t>(i) * head.mask_count];
    ObjectnessTarget objectness = unassigned_objectness(head, chunk.best_iou[i]);
    if (assignment.truth >= 0) {
      const float logits[4] = {chunk.logits[0][i], chunk.logits[1][i], chunk.logits[2][i],
                               chunk.logits[3][i]};
      const int column = place.first_column + i;
      const Truth& truth = batch.truths_of(place.image)[assignment.truth];
      const float overlap = add_box_loss(batch, place, column, logits, truth, gradient + i * stride, sums);
      add_class_loss(batch, place, column, assignment, predictions + i * stride + 5,
                     gradient + i * stride + 5, sums);
      objectness = assigned_objectness(head, overlap);
    }
    chunk.target[i] = objectness.target;
    chunk.weight[i] = objectness.weight;
  }
  sums.objectness += objectness_loss(head, chunk);
  for (int i = 0; i < count; ++i)
    gradient[i * stride + 4] = static_cast<T>(batch.gradient_scale * chunk.derivative[i]);
}

template <typename T>
Sums row_loss(const Batch& batch, int image, int row, const T* predictions, T* gradient) {
  const YoloHead& head = batch.head;
  const size_t stride = head.channels();
  const size_t first = batch.first_prediction(image, row);
  const T* row_predictions = predictions + first * head.values();
  T* row_gradient = gradient + first * head.values();
  std::fill_n(row_gradient, stride * batch.shape.w, T{});
  Sums sums;
  for (int slot = 0; slot < head.mask_count; ++slot) {
    for (int column = 0; column < batch.shape.w; column += chunk_size) {
      const size_t offset = column * stride + static_cast<size_t>(slot) * head.values();
      const Assignment* assignments =
          batch.assignments + first + static_cast<size_t>(column) * head.mask_count + slot;
      add_chunk(batch, {image, row, column, slot}, std::min(chunk_size, batch.shape.w - column),
                row_predictions + offset, row_gradient + offset, assignments, sums);
    }
  }
  return sums;
}

template <typename T>
void all_rows(const Batch& batch, const T* predictions, T* gradient, Sums* rows) {
  const int images = batch.shape.n, height = batch.shape.h;
#pragma omp parallel
  {
#pragma omp for schedule(dynamic)
    for (int image = 0; image < images; ++image) assign_truths(batch, image, predictions);
#pragma omp for collapse(2) schedule(dynamic, 4)
    for (int image = 0; image < images; ++image)
      for (int row = 0; row < height; ++row)
        rows[static_cast<size_t>(image) * height + row] = row_loss(batch, image, row, predictions, gradient);
  }
}

size_t assignment_bytes(const YoloHead& head, const Shape& predictions) {
  return aligned(predictions.pixels() * head.mask_count * sizeof(Assignment));
}

void check(const YoloHead& head, const Shape& shape) {
  BRIGHTNET_CHECK(head.classes > 0 && head.mask_count > 0 && head.mask_count <= max_head_anchors &&
                      head.anchor_count > 0 && head.anchor_count <= max_anchors && head.input_width > 0 &&
                      head.input_height > 0,
                  "incomplete YOLO head");
  BRIGHTNET_CHECK(shape.c == head.channels(), "a YOLO head of " + std::to_string(head.channels()) +
                                                  " channels was given " + to_string(shape));
}

}  // namespace

size_t CpuBackend::yolo_workspace(const YoloHead& head, const Shape& predictions) const {
  return assignment_bytes(head, predictions) +
         static_cast<size_t>(predictions.n) * predictions.h * sizeof(Sums);
}

void CpuBackend::yolo_loss(const YoloHead& head, const YoloLossPass& pass) {
  const Tensor& predictions = pass.predictions;
  const TruthList& truths = pass.truths;
  const Shape shape = predictions.shape;
  check(head, shape);
  BRIGHTNET_CHECK(pass.gradient.shape == shape && pass.gradient.type == predictions.type,
                  "the gradient's shape or type is not the predictions'");
  for (int t = truths.offsets[0]; t < truths.offsets[shape.n]; ++t)
    BRIGHTNET_CHECK(truths.truths[t].class_id >= 0 && truths.truths[t].class_id < head.classes,
                    "a truth is of class " + std::to_string(truths.truths[t].class_id));
  auto* assignments = static_cast<Assignment*>(pass.workspace);
  auto* rows = reinterpret_cast<Sums*>(static_cast<char*>(pass.workspace) + assignment_bytes(head, shape));
  const float scale = pass.scale.constant * (pass.scale.dynamic ? *pass.scale.dynamic : 1.0f);
  const Batch batch{head, shape, truths, scale, assignments};
  if (predictions.type == DType::f32) {
    all_rows(batch, predictions.as<const float>(), pass.gradient.as<float>(), rows);
  } else {
    BRIGHTNET_CHECK(predictions.type == DType::bf16, "the CPU's YOLO loss takes f32 and bf16");
    all_rows(batch, predictions.as<const BFloat16>(), pass.gradient.as<BFloat16>(), rows);
  }
  Sums total;
  for (size_t i = 0; i < static_cast<size_t>(shape.n) * shape.h; ++i) total += rows[i];
  *pass.loss = {finite_loss(total.box), finite_loss(total.objectness), finite_loss(total.classes),
                finite_loss(total.iou), finite_loss(total.assigned)};
  if (pass.totals) add_loss(*pass.totals, *pass.loss);
}

}  // namespace brightnet::cpu
