// Detections of a YOLO head on the CPU. A score is at most its objectness, which is tiny for nearly all
// predictions, so comparing one logit skips nearly all of the work.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "core/error.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/math/box.h"
#include "kernels/math/yolo.h"

namespace brightnet::cpu {
namespace {

template <typename T>
void detect_in_image(const YoloHead& head, const Shape& shape, const T* image, float threshold,
                     std::vector<Detection>& detections) {
  const float least = logit_below(threshold);
  const size_t predictions = static_cast<size_t>(shape.h) * shape.w * head.mask_count;
  for (size_t i = 0; i < predictions; ++i) {
    const T* p = image + i * head.values();
    const float objectness_logit = static_cast<float>(p[4]);
    if (!(objectness_logit > least)) continue;
    const float objectness = logistic(objectness_logit);
    const size_t cell = i / head.mask_count;
    bool decoded = false;
    Box box;
    for (int c = 0; c < head.classes; ++c) {
      const float score = objectness * logistic(static_cast<float>(p[5 + c]));
      if (!(score > threshold)) continue;
      if (!decoded) {
        box = decode_box(head, head.mask[i % head.mask_count], static_cast<int>(cell % shape.w),
                         static_cast<int>(cell / shape.w), shape.w, shape.h, static_cast<float>(p[0]),
                         static_cast<float>(p[1]), static_cast<float>(p[2]), static_cast<float>(p[3]));
        decoded = true;
      }
      detections.push_back({box, c, score});
    }
  }
}

/// Keeps the best max_candidates of those from `begin` on, in their order.
void keep_best(std::vector<Detection>& detections, size_t begin) {
  const size_t count = detections.size() - begin;
  if (count <= max_candidates) return;
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  const auto better = [&](uint32_t a, uint32_t b) {
    const float first = detections[begin + a].score, second = detections[begin + b].score;
    return first != second ? first > second : a < b;
  };
  std::nth_element(order.begin(), order.begin() + max_candidates, order.end(), better);
  std::sort(order.begin(), order.begin() + max_candidates);
  for (size_t i = 0; i < max_candidates; ++i) detections[begin + i] = detections[begin + order[i]];
  detections.resize(begin + max_candidates);
}

template <typename T>
void detect_in_images(const YoloHead& head, const Shape& shape, const T* predictions, float threshold,
                      std::span<std::vector<Detection>> detections) {
  const size_t image_size = static_cast<size_t>(shape.h) * shape.w * shape.c;
#pragma omp parallel for schedule(dynamic)
  for (int n = 0; n < shape.n; ++n) {
    const size_t begin = detections[n].size();
    detect_in_image(head, shape, predictions + n * image_size, threshold, detections[n]);
    keep_best(detections[n], begin);
  }
}

}  // namespace

void CpuBackend::yolo_detect(const YoloHead& head, const Tensor& predictions, float threshold,
                             std::span<std::vector<Detection>> detections, void*) {
  const Shape shape = predictions.shape;
  BRIGHTNET_CHECK(shape.c == head.channels() && head.mask_count > 0, "predictions are not of this YOLO head");
  BRIGHTNET_CHECK(detections.size() >= static_cast<size_t>(shape.n), "fewer lists of detections than images");
  if (predictions.type == DType::f32) {
    detect_in_images(head, shape, predictions.as<const float>(), threshold, detections);
  } else {
    BRIGHTNET_CHECK(predictions.type == DType::bf16, "the CPU's YOLO head takes f32 and bf16");
    detect_in_images(head, shape, predictions.as<const BFloat16>(), threshold, detections);
  }
}

}  // namespace brightnet::cpu
