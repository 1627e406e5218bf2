// The losses against a teacher. Predictions: a thread takes one number of them, so that neighbours read neighbours, and the
// thread of a box's first number does the box's four; the teacher's objectness, of which all numbers of a prediction read the
// same element, comes from the cache. Features: one block adds up an image, which decides the scale of its gradient, so that a
// second pass writes that. Blocks leave their sums, which one block adds in their order.
#include "kernels/cuda/block_sum.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/distillation.h"

namespace brightnet::cuda {
namespace {

constexpr int prediction_threads = 256, image_threads = 1024, add_threads = 256;

/// Sums over one image's features.
struct ImageSums {
  double error, squares;
};

template <typename T>
struct Predictions {
  DistilledHeads heads;
  Shape shape;
  const T *student, *teacher;
  T* gradient;
  size_t student_stride, teacher_stride;
  float factor;
  const float* dynamic_scale;
};

template <typename T>
__device__ void add(T& gradient, float value) {
  gradient = narrow<T>(widen(gradient) + value);
}

template <typename T>
__device__ double loss_of_number(const Predictions<T>& a, size_t item, float factor) {
  const int values = a.heads.student.values();
  const auto channels = static_cast<size_t>(a.heads.student.channels());
  const size_t pixel = item / channels;
  const int channel = static_cast<int>(item % channels), slot = channel / values, k = channel % values;
  const T* const other = a.teacher + pixel * a.teacher_stride + a.heads.slot[slot] * values;
  const T* const own = a.student + pixel * a.student_stride + slot * values;
  T* const gradient = a.gradient + pixel * a.student_stride + slot * values;
  if (k >= 1 && k < 4) return 0;  // the first number's thread does the box
  const float seen = logistic(widen(other[4]));
  if (k >= 4) {
    const LossTerm term = distilled_logit(a.heads, slot, k, widen(own[k]), widen(other[k]), seen);
    add(gradient[k], factor * term.derivative);
    return term.value;
  }
  float logits[4], of_teacher[4];
  for (int i = 0; i < 4; ++i) {
    logits[i] = widen(own[i]);
    of_teacher[i] = widen(other[i]);
  }
  const int column = static_cast<int>(pixel % a.shape.w),
            row = static_cast<int>(pixel / a.shape.w % a.shape.h);
  const BoxTerm box =
      distilled_box(a.heads, slot, column, row, a.shape.w, a.shape.h, logits, of_teacher, seen);
  for (int i = 0; i < 4; ++i) add(gradient[i], factor * box.derivative[i]);
  return box.value;
}

template <typename T>
__global__ void __launch_bounds__(prediction_threads)
    distill_numbers(Predictions<T> a, size_t count, double* sums) {
  const float factor = a.factor * (a.dynamic_scale ? *a.dynamic_scale : 1.0f);
  double own = 0;
  for (size_t i = first_item(); i < count; i += item_step()) own += loss_of_number(a, i, factor);
  const double sum = block_sum(own);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <typename T>
__global__ void __launch_bounds__(image_threads)
    sum_image(const T* student, const T* teacher, size_t count, ImageSums* sums) {
  const size_t first = blockIdx.x * count;
  double error = 0, squares = 0;
  for (size_t i = threadIdx.x; i < count; i += image_threads) {
    const float t = widen(teacher[first + i]), difference = widen(student[first + i]) - t;
    squares += static_cast<double>(t) * static_cast<double>(t);
    error += static_cast<double>(difference) * static_cast<double>(difference);
  }
  error = block_sum(error);
  squares = block_sum(squares);
  if (threadIdx.x == 0) sums[blockIdx.x] = {error, squares};
}

template <typename T>
struct FeatureGradient {
  const T *student, *teacher;
  T* gradient;
  const ImageSums* sums;
  size_t of_image;
  float factor;
  const float* dynamic_scale;

  template <int count>
  __device__ void operator()(size_t i) const {
    float own[count], other[count];
    load_floats<count>(student + i, own);
    load_floats<count>(teacher + i, other);
    const float scale = factor * (dynamic_scale ? *dynamic_scale : 1.0f);
#pragma unroll
    for (int k = 0; k < count; ++k)
      own[k] = 2 * scale * inverse_energy(sums[(i + k) / of_image].squares) * (own[k] - other[k]);
    store_floats<count>(gradient + i, own);
  }
};

__global__ void __launch_bounds__(add_threads)
    add_predictions(const double* sums, unsigned count, float weight, LossTotals* totals) {
  double own = 0;
  for (unsigned i = threadIdx.x; i < count; i += add_threads) own += sums[i];
  const double sum = block_sum(own);
  if (threadIdx.x == 0) totals->distillation += static_cast<double>(weight) * sum;
}

__global__ void __launch_bounds__(add_threads)
    add_features(const ImageSums* sums, unsigned count, float weight, LossTotals* totals) {
  double own = 0;
  for (unsigned i = threadIdx.x; i < count; i += add_threads)
    own += sums[i].error * static_cast<double>(inverse_energy(sums[i].squares));
  const double sum = block_sum(own);
  if (threadIdx.x == 0) totals->distillation += static_cast<double>(weight) * sum;
}

size_t scale_bytes(const DistillationPass& pass) {
  return pass.scale.dynamic ? sizeof(float) : 0;
}

}  // namespace

void CudaBackend::distill_predictions(const DistilledHeads& heads, const DistillationPass& pass) {
  check_distillation(heads, pass);
  const size_t count = pass.student.count();
  const unsigned blocks = blocks_for(count, prediction_threads, most_distillation_blocks);
  auto* const sums = static_cast<double*>(pass.workspace);
  with_compute_type(pass.student.type, [&]<typename T>() {
    const Predictions<T> arguments{heads,
                                   pass.student.shape,
                                   static_cast<const T*>(pass.student.data),
                                   static_cast<const T*>(pass.teacher.data),
                                   static_cast<T*>(pass.gradient.data),
                                   pass.student.pixel_stride(),
                                   pass.teacher.pixel_stride(),
                                   pass.weight * pass.scale.constant,
                                   pass.scale.dynamic};
    const Traffic traffic{2 * pass.student.bytes() + pass.teacher.bytes() + scale_bytes(pass),
                          pass.student.bytes() + blocks * sizeof(double)};
    launch(distill_numbers<T>, Grid(blocks).moving(traffic), prediction_threads, 0, stream(), arguments,
           count, sums);
  });
  if (!pass.totals) return;
  launch(add_predictions, Grid(1).moving({(blocks + 1) * sizeof(double), sizeof(double)}), add_threads, 0,
         stream(), sums, blocks, pass.weight, pass.totals);
}

void CudaBackend::distill_features(const DistillationPass& pass) {
  check_distillation(pass);
  const auto images = static_cast<unsigned>(pass.student.shape.n);
  const size_t count = pass.student.count(), of_image = count / images;
  auto* const sums = static_cast<ImageSums*>(pass.workspace);
  const size_t read = 2 * pass.student.bytes(), sum_bytes = images * sizeof(ImageSums);
  with_compute_type(pass.student.type, [&]<typename T>() {
    const auto* const student = static_cast<const T*>(pass.student.data);
    const auto* const teacher = static_cast<const T*>(pass.teacher.data);
    auto* const gradient = static_cast<T*>(pass.gradient.data);
    launch(sum_image<T>, Grid(images).moving({read, sum_bytes}), image_threads, 0, stream(), student, teacher,
           of_image, sums);
    const FeatureGradient<T> body{
        student, teacher, gradient, sums, of_image, pass.weight * pass.scale.constant, pass.scale.dynamic};
    for_each_element<whole_vector<T>>(
        count, {student, teacher, gradient}, body, stream(),
        Traffic{read + images * sizeof(double) + scale_bytes(pass), pass.gradient.bytes()});
  });
  if (!pass.totals) return;
  launch(add_features, Grid(1).moving({sum_bytes + sizeof(double), sizeof(double)}), add_threads, 0, stream(),
         sums, images, pass.weight, pass.totals);
}

}  // namespace brightnet::cuda
