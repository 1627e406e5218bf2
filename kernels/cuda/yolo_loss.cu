// The YOLO loss of a batch: assignment, loss and gradient, without the host. The rules and formulas are in
// kernels/math, shared with the CPU (kernels/cpu/yolo.cpp).
//
// It must write the whole gradient, which is as large as the predictions, and read five numbers of each
// prediction (x, y, w, h, objectness); class logits only of the few that have a truth. At 80 classes in fp16
// that is 170 bytes written and one or two 32-byte sectors read for a prediction. So:
//
//   assign_truths   one block an image, one thread a truth. An atomic maximum over (suitability, lower index
//                   first) decides between truths that compete for a prediction, whatever the order of the
//                   threads. The suitability is the IoU of the sizes; simota's reads some 3 to 27 predictions
//                   a truth.
//   loss_of_tile    one block for 256 consecutive predictions, or those of whole pixels where channels are padded
//                   (Backend::padded_channels()): they lie in one piece of memory however wide a prediction is.
//                   A thread takes one prediction; the truths of its image pass through shared memory for the
//                   ignore rule. The five derivatives wait in shared memory until the block writes its piece of
//                   the gradient in 16-byte groups, nearly all of them zeros.
//                   Predictions with a truth then get their class gradients from one warp each, 32 classes at
//                   a time.
//   add_up          one block adds the tiles' sums in a fixed order.

#include "core/alignment.h"
#include "kernels/cuda/block_sum.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/math/yolo.h"

namespace brightnet::cuda {
namespace {

constexpr int loss_tile = 256;  ///< threads of a block, and the most predictions
constexpr int truth_chunk = 128;
constexpr int assign_threads = 128, add_up_threads = 256;

/// Key of a truth that competes for a prediction; the maximum wins. Upper half: the suitability (the bits of
/// a non-negative float order like the float); lower half: the complement of the truth's index. 0: no truth.
using Winner = unsigned long long;

__device__ Winner winner(float fit, int truth) {
  return static_cast<Winner>(__float_as_uint(fit)) << 32 | (0xffffffffu - static_cast<unsigned>(truth));
}
__device__ int truth_of(Winner winner) {
  return winner == 0 ? -1 : static_cast<int>(0xffffffffu - static_cast<unsigned>(winner));
}

struct Sums {
  double box, objectness, classes, iou, assigned;
};

template <typename T>
struct LossArguments {
  YoloHead head;
  Shape shape;
  const T* predictions;
  T* gradient;
  TruthList truths;
  const float* dynamic_scale;  ///< GradientScale::dynamic
  const Winner* winners;
  Sums* tiles;
  size_t count;  ///< number of predictions
  float constant_scale;
  // Rows of predictions: of a pixel where padding follows them, else of one prediction.
  unsigned row, stride;  ///< predictions of a row; elements from one row to the next
  unsigned of_block;     ///< predictions of a block, which are whole rows

  /// The index of a prediction's first number; for `count`, the end of all.
  __device__ size_t place(size_t prediction) const {
    return prediction / row * stride + prediction % row * static_cast<size_t>(head.values());
  }
};

/// The place of a prediction.
struct Place {
  int image, row, column, slot;
};

__device__ Place place_of(size_t prediction, const Shape& shape, int slots) {
  const size_t cell = prediction / static_cast<size_t>(slots);
  const size_t line = cell / static_cast<size_t>(shape.w);
  return {static_cast<int>(line / static_cast<size_t>(shape.h)),
          static_cast<int>(line % static_cast<size_t>(shape.h)),
          static_cast<int>(cell % static_cast<size_t>(shape.w)),
          static_cast<int>(prediction % static_cast<size_t>(slots))};
}

/// Assigns by the sizes of truths and anchors alone, for best_anchor and neighbours. `winners` are the image's.
__device__ void assign_by_size(const YoloHead& head, const Shape& shape, const Box& box, int truth,
                               Winner* winners) {
  const int best = best_anchor(head, box);
  const AssignedCells cells = assigned_cells(head, box, shape.w, shape.h);
  for (int slot = 0; slot < head.mask_count; ++slot) {
    const int anchor = head.mask[slot];
    if (!is_assigned(head, box, anchor, best)) continue;
    const Winner key = winner(size_iou(relative_anchor(head, anchor), box), truth);
    for (int i = 0; i < cells.count; ++i) {
      const size_t cell = static_cast<size_t>(cells.row[i]) * shape.w + static_cast<size_t>(cells.column[i]);
      atomicMax(winners + cell * head.mask_count + slot, key);
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(assign_threads) assign_truths(LossArguments<T> a, Winner* winners) {
  const YoloHead& head = a.head;
  const int image = static_cast<int>(blockIdx.x);
  const size_t first = static_cast<size_t>(image) * a.shape.h * a.shape.w * head.mask_count;
  for (int t = a.truths.offsets[image] + static_cast<int>(threadIdx.x); t < a.truths.offsets[image + 1];
       t += assign_threads) {
    const Truth truth = a.truths.truths[t];
    if (!is_usable(truth.box)) continue;
    if (!reads_predictions(head.assignment)) {
      assign_by_size(head, a.shape, truth.box, t, winners + first);
      continue;
    }
    const Candidates found = find_candidates(head, truth, a.shape.w, a.shape.h, [&](int cell, int slot) {
      return a.predictions + a.place(first + static_cast<size_t>(cell) * head.mask_count + slot);
    });
    for (int i = 0; i < found.taken; ++i) {
      atomicMax(winners + first + static_cast<size_t>(found.cell[i]) * head.mask_count + found.slot[i],
                winner(found.suitability[i], t));
    }
  }
}

/// A box by its edges. An empty one overlaps no other.
struct Corners {
  float left, right, top, bottom, area;
};

__device__ Corners corners_of(const Box& box) {
  return {box.x - 0.5f * box.w, box.x + 0.5f * box.w, box.y - 0.5f * box.h, box.y + 0.5f * box.h,
          box.w * box.h};
}

__device__ float overlap_of(const Corners& a, const Corners& b) {
  const float w = (a.right < b.right ? a.right : b.right) - (a.left > b.left ? a.left : b.left);
  const float h = (a.bottom < b.bottom ? a.bottom : b.bottom) - (a.top > b.top ? a.top : b.top);
  const float shared = w > 0 && h > 0 ? w * h : 0.0f;
  const float either = a.area + b.area - shared;
  return shared / (either > smallest_area ? either : smallest_area);
}

/// The highest IoU of this thread's box with a truth of its image. [begin, end) are the truths of all images
/// of the block. All threads of the block call it.
__device__ float best_iou(const TruthList& truths, int begin, int end, int image, const Corners& own) {
  BRIGHTNET_SHARED(Corners, chunk, [truth_chunk]);
  const int own_begin = truths.offsets[image], own_end = truths.offsets[image + 1];
  float best = 0;
  for (int first = begin; first < end; first += truth_chunk) {
    const int last = first + truth_chunk < end ? first + truth_chunk : end;
    __syncthreads();
    for (int t = first + static_cast<int>(threadIdx.x); t < last; t += loss_tile) {
      const Box box = truths.truths[t].box;
      chunk[t - first] = is_usable(box) ? corners_of(box) : Corners{0, -1, 0, -1, 0};
    }
    __syncthreads();
    const int to = own_end < last ? own_end : last;
    for (int t = own_begin > first ? own_begin : first; t < to; ++t) {
      const float value = overlap_of(own, chunk[t - first]);
      best = value > best ? value : best;
    }
  }
  return best;
}

/// Class loss of a prediction with a truth, and the gradient of its class logits: by one warp; the sum is in
/// every lane. Positive are the classes of its truth and, except for simota, of the truths that competed for it
/// and lost.
template <typename T>
__device__ float class_loss(const LossArguments<T>& a, const Place& place, int truth, const T* logits,
                            T* gradient, float scale) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const bool own_truth_only = reads_predictions(a.head.assignment);
  const int begin = own_truth_only ? truth : a.truths.offsets[place.image];
  const int end = own_truth_only ? truth + 1 : a.truths.offsets[place.image + 1];
  float sum = 0;
  for (int first = 0; first < a.head.classes; first += warp_size) {
    const int own = first + lane;
    bool positive = false;
    for (int t = begin; t < end; t += warp_size) {
      const bool assigned =
          t + lane < end && (own_truth_only || is_assigned_in_cell(a.head, a.truths.truths[t + lane].box,
                                                                   a.head.mask[place.slot], place.column,
                                                                   place.row, a.shape.w, a.shape.h));
      for (unsigned found = __ballot_sync(full_warp, assigned); found != 0; found &= found - 1)
        positive = positive || a.truths.truths[t + __ffs(static_cast<int>(found)) - 1].class_id == own;
    }
    if (own >= a.head.classes) continue;
    const LossTerm term = class_term(a.head, own, widen(logits[own]), positive);
    sum += term.value;
    gradient[own] = narrow<T>(scale * term.derivative);
  }
  return warp_sum(sum);
}

/// Writes the block's piece of the gradient: five derivatives of each prediction, and zeros for its classes and what pads
/// a row.
template <typename T>
__device__ void write_gradient(const LossArguments<T>& a, T* gradient,
                               const float (&derivatives)[loss_tile][5], size_t count) {
  constexpr int width = whole_vector<T>;
  for (size_t at = static_cast<size_t>(threadIdx.x) * width; at < count; at += size_t{loss_tile} * width) {
    // A tile has less than 2^32 numbers, and a 64-bit division would take longer than writing 16 bytes.
    const unsigned first = static_cast<unsigned>(at), values = static_cast<unsigned>(a.head.values());
    const unsigned used = a.row * values;
    unsigned in_row = first % a.stride, number = in_row % values;
    unsigned prediction = first / a.stride * a.row + min(in_row / values, a.row);
    float group[width];
#pragma unroll
    for (int i = 0; i < width; ++i) {
      group[i] = at + i < count && in_row < used && number < 5 ? derivatives[prediction][number] : 0.0f;
      if (in_row < used && ++number == values) {
        number = 0;
        ++prediction;
      }
      if (++in_row == a.stride) in_row = number = 0;
    }
    if (at + width <= count) {
      store_floats(gradient + at, group);
    } else {
#pragma unroll  // keeps the group out of local memory
      for (int i = 0; i < width; ++i) {
        if (at + i < count) gradient[at + i] = narrow<T>(group[i]);
      }
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(loss_tile) loss_of_tile(LossArguments<T> a) {
  BRIGHTNET_SHARED(float, derivatives, [loss_tile][5]);
  BRIGHTNET_SHARED(int, owners, [loss_tile]);
  BRIGHTNET_SHARED(float, class_losses, [loss_tile]);
  const YoloHead& head = a.head;
  const int own = static_cast<int>(threadIdx.x);
  const size_t first = static_cast<size_t>(blockIdx.x) * a.of_block;
  const size_t last = first + a.of_block < a.count ? first + a.of_block : a.count;
  const bool inside = first + own < last;
  // Threads beyond the end work on the last prediction, too, and write nothing.
  const size_t prediction = inside ? first + own : last - 1;
  const Place place = place_of(prediction, a.shape, head.mask_count);
  const int anchor = head.mask[place.slot];
  const float scale = a.constant_scale * (a.dynamic_scale ? *a.dynamic_scale : 1.0f);

  const T* const own_logits = a.predictions + a.place(prediction);
  float logits[5];
  for (int k = 0; k < 5; ++k) logits[k] = widen(own_logits[k]);
  const float box_logits[4] = {logits[0], logits[1], logits[2], logits[3]};
  float highest = 0;
  if (head.ignore_threshold < 1.0f || head.truth_threshold < 1.0f) {
    const int first_image = place_of(first, a.shape, head.mask_count).image;
    const int last_image = place_of(last - 1, a.shape, head.mask_count).image;
    const Box box = decode_box(head, anchor, place.column, place.row, a.shape.w, a.shape.h, logits[0],
                               logits[1], logits[2], logits[3]);
    highest = best_iou(a.truths, a.truths.offsets[first_image], a.truths.offsets[last_image + 1], place.image,
                       corners_of(box));
  }

  const int truth = inside ? truth_of(a.winners[prediction]) : -1;
  ObjectnessTarget objectness = unassigned_objectness(head, highest);
  BoxTerm box{};
  if (truth >= 0) {
    box = box_term(head, anchor, place.column, place.row, a.shape.w, a.shape.h, box_logits,
                   a.truths.truths[truth].box);
    objectness = assigned_objectness(head, box.iou);
  }
  const LossTerm seen = objectness_term(head, logits[4], objectness.target);
  for (int k = 0; k < 4; ++k) derivatives[own][k] = scale * box.derivative[k];
  derivatives[own][4] = scale * (objectness.weight * seen.derivative);
  owners[own] = truth;
  const bool any_truth = __syncthreads_or(truth >= 0);

  write_gradient(a, a.gradient + a.place(first), derivatives, a.place(last) - a.place(first));
  Sums sums{};
  sums.objectness = block_sum(inside ? static_cast<double>(objectness.weight * seen.value) : 0.0);
  if (any_truth) {
    __syncthreads();  // the zeros are written
    for (int i = own / warp_size; i < loss_tile; i += loss_tile / warp_size) {
      if (owners[i] < 0) continue;
      const size_t classes = a.place(first + i) + 5;
      const float loss = class_loss(a, place_of(first + i, a.shape, head.mask_count), owners[i],
                                    a.predictions + classes, a.gradient + classes, scale);
      if (own % warp_size == 0) class_losses[i] = loss;
    }
    __syncthreads();
    const bool assigned = truth >= 0;
    sums.box = block_sum(assigned ? static_cast<double>(box.value) : 0.0);
    sums.classes = block_sum(assigned ? static_cast<double>(class_losses[own]) : 0.0);
    sums.iou = block_sum(assigned ? static_cast<double>(box.iou) : 0.0);
    sums.assigned = block_sum(assigned ? 1.0 : 0.0);
  }
  if (own == 0) a.tiles[blockIdx.x] = sums;
}

__global__ void __launch_bounds__(add_up_threads)
    add_up(const Sums* tiles, unsigned count, YoloLoss* loss, LossTotals* totals) {
  Sums own{};
  for (unsigned i = threadIdx.x; i < count; i += add_up_threads) {
    own.box += tiles[i].box;
    own.objectness += tiles[i].objectness;
    own.classes += tiles[i].classes;
    own.iou += tiles[i].iou;
    own.assigned += tiles[i].assigned;
  }
  const YoloLoss sum{finite_loss(block_sum(own.box)), finite_loss(block_sum(own.objectness)),
                     finite_loss(block_sum(own.classes)), finite_loss(block_sum(own.iou)),
                     finite_loss(block_sum(own.assigned))};
  if (threadIdx.x > 0) return;
  *loss = sum;
  if (totals) add_loss(*totals, sum);
}

size_t winner_bytes(const YoloHead& head, const Shape& shape) {
  return aligned(shape.pixels() * static_cast<size_t>(head.mask_count) * sizeof(Winner), device_alignment);
}

/// Predictions of a block, in whole rows of so many.
unsigned of_block(unsigned row) {
  return loss_tile / row * row;
}

}  // namespace

size_t CudaBackend::yolo_workspace(const YoloHead& head, const Shape& predictions) const {
  const size_t count = predictions.pixels() * static_cast<size_t>(head.mask_count);
  return winner_bytes(head, predictions) + blocks_for(count, of_block(head.mask_count)) * sizeof(Sums);
}

void CudaBackend::yolo_loss(const YoloHead& head, const YoloLossPass& pass) {
  const Shape shape = pass.predictions.shape;
  BRIGHTNET_CHECK(head.classes > 0 && head.mask_count > 0 && shape.c == head.channels() && shape.count() > 0,
                  "predictions are not of this YOLO head");
  const size_t stride = pass.predictions.pixel_stride();
  BRIGHTNET_CHECK(pass.gradient.shape == shape && pass.gradient.type == pass.predictions.type &&
                      pass.gradient.pixel_stride() == stride,
                  "the gradient's shape or type is not the predictions'");
  auto* const winners = static_cast<Winner*>(pass.workspace);
  auto* const sums =
      reinterpret_cast<Sums*>(static_cast<std::byte*>(pass.workspace) + winner_bytes(head, shape));
  const bool padded = stride > static_cast<size_t>(shape.c);
  const unsigned row = padded ? head.mask_count : 1;
  const size_t count = shape.pixels() * static_cast<size_t>(head.mask_count);
  const unsigned tiles = blocks_for(count, of_block(row));
  fill_async(winners, 0, winner_bytes(head, shape), stream());
  with_compute_type(pass.predictions.type, [&]<typename T>() {
    const LossArguments<T> arguments{head,
                                     shape,
                                     static_cast<const T*>(pass.predictions.data),
                                     static_cast<T*>(pass.gradient.data),
                                     pass.truths,
                                     pass.scale.dynamic,
                                     winners,
                                     sums,
                                     count,
                                     pass.scale.constant,
                                     row,
                                     static_cast<unsigned>(padded ? stride : head.values()),
                                     of_block(row)};
    // The ground truth is not counted: each box adds less than a kilobyte.
    const size_t offsets = (static_cast<size_t>(shape.n) + 1) * sizeof(int);
    launch(assign_truths<T>, Grid(shape.n).moving({offsets, 0}), assign_threads, 0, stream(), arguments,
           winners);
    const size_t scale = pass.scale.dynamic ? sizeof(float) : 0;
    const Traffic traffic{count * (5 * sizeof(T) + sizeof(Winner)) + offsets + scale,
                          shape.pixels() * stride * sizeof(T) + tiles * sizeof(Sums)};
    launch(loss_of_tile<T>, Grid(tiles).moving(traffic), loss_tile, 0, stream(), arguments);
  });
  const size_t totals = pass.totals ? 5 * sizeof(double) : 0;
  launch(add_up, Grid(1).moving({tiles * sizeof(Sums) + totals, sizeof(YoloLoss) + totals}), add_up_threads,
         0, stream(), sums, tiles, pass.loss, pass.totals);
}

}  // namespace brightnet::cuda
