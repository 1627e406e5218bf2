// Detections of a YOLO head on the GPU.
#pragma once

#include <span>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// Bytes of device memory that detecting in predictions of this shape needs.
size_t yolo_detect_workspace(const YoloHead& head, const Shape& predictions);

/// See Backend::yolo_detect. Keeps pinned memory for what it brings to the host.
class YoloDetector {
 public:
  void detect(const YoloHead& head, const Tensor& predictions, float threshold,
              std::span<std::vector<Detection>> detections, void* workspace, const Stream& stream);

 private:
  PinnedMemory staging_;
};

}  // namespace brightnet::cuda
