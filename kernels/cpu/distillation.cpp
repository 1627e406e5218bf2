// The losses against a teacher on the CPU. Every row of predictions, and every image of features, has its own slot for its
// sum, and the slots are added in order, so the result does not depend on the threads.
#include "kernels/distillation.h"

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {
namespace {

float factor_of(const DistillationPass& pass) {
  return pass.weight * pass.scale.constant * (pass.scale.dynamic ? *pass.scale.dynamic : 1.0f);
}

void add_to_totals(const DistillationPass& pass, const double* sums, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += sums[i];
  if (pass.totals) pass.totals->distillation += pass.weight * sum;
}

template <typename T>
void add(T& gradient, float value) {
  store(gradient, widen(gradient) + value);
}

/// The loss of one prediction, in the slot of an anchor.
template <typename T>
double prediction_loss(const DistilledHeads& heads, int slot, int column, int row, const Shape& shape,
                       const T* student, const T* teacher, T* gradient, float factor) {
  const float seen = logistic(widen(teacher[4]));
  float logits[4], of_teacher[4];
  for (int k = 0; k < 4; ++k) {
    logits[k] = widen(student[k]);
    of_teacher[k] = widen(teacher[k]);
  }
  const BoxTerm box = distilled_box(heads, slot, column, row, shape.w, shape.h, logits, of_teacher, seen);
  for (int k = 0; k < 4; ++k) add(gradient[k], factor * box.derivative[k]);
  double sum = box.value;
  for (int k = 4; k < heads.student.values(); ++k) {
    const LossTerm term = distilled_logit(heads, slot, k, widen(student[k]), widen(teacher[k]), seen);
    add(gradient[k], factor * term.derivative);
    sum += term.value;
  }
  return sum;
}

template <typename T>
double row_loss(const DistilledHeads& heads, const DistillationPass& pass, size_t row) {
  const Shape& shape = pass.student.shape;
  const int values = heads.student.values();
  double sum = 0;
  for (int column = 0; column < shape.w; ++column) {
    const size_t pixel = row * shape.w + column;
    for (int slot = 0; slot < heads.student.mask_count; ++slot) {
      const size_t own = pixel * pass.student.pixel_stride() + (slot * values);
      const size_t other = pixel * pass.teacher.pixel_stride() + (heads.slot[slot] * values);
      sum += prediction_loss(heads, slot, column, static_cast<int>(row % static_cast<size_t>(shape.h)), shape,
                             pass.student.as<T>() + own, pass.teacher.as<T>() + other,
                             pass.gradient.as<T>() + own, factor_of(pass));
    }
  }
  return sum;
}

/// The loss of one image's features.
template <typename T>
double features_loss(const T* student, const T* teacher, T* gradient, size_t count, float factor) {
  double squares = 0, error = 0;
#pragma omp simd reduction(+ : squares, error)
  for (size_t i = 0; i < count; ++i) {
    const float t = widen(teacher[i]), difference = widen(student[i]) - t;
    squares += static_cast<double>(t) * t;
    error += static_cast<double>(difference) * difference;
  }
  const float inverse = inverse_energy(squares), slope = 2 * factor * inverse;
#pragma omp simd
  for (size_t i = 0; i < count; ++i) store(gradient[i], slope * (widen(student[i]) - widen(teacher[i])));
  return error * inverse;
}

}  // namespace

void CpuBackend::distill_predictions(const DistilledHeads& heads, const DistillationPass& pass) {
  check_distillation(heads, pass);
  const Shape& shape = pass.student.shape;
  const auto rows = shape.n * static_cast<size_t>(shape.h);
  auto* const sums = static_cast<double*>(pass.workspace);
  with_compute_type(pass.student.type, [&]<typename T>() {
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < rows; ++row) sums[row] = row_loss<T>(heads, pass, row);
  });
  add_to_totals(pass, sums, rows);
}

void CpuBackend::distill_features(const DistillationPass& pass) {
  check_distillation(pass);
  const Shape& shape = pass.student.shape;
  const auto images = static_cast<size_t>(shape.n);
  const size_t count = shape.count() / images;
  auto* const sums = static_cast<double*>(pass.workspace);
  with_compute_type(pass.student.type, [&]<typename T>() {
#pragma omp parallel for schedule(static)
    for (size_t image = 0; image < images; ++image) {
      const size_t at = image * count;
      sums[image] = features_loss(pass.student.as<T>() + at, pass.teacher.as<T>() + at,
                                  pass.gradient.as<T>() + at, count, factor_of(pass));
    }
  });
  add_to_totals(pass, sums, images);
}

}  // namespace brightnet::cpu
