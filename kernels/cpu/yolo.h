// The YOLO head on the CPU: its loss and its detections. docs/loss.md says what is computed.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/tensor.h"
#include "kernels/backend.h"

namespace brightnet::cpu {

/// Bytes that yolo_loss needs for predictions of this shape (n × h × w × head.channels()).
size_t yolo_workspace(const YoloHead& head, const Shape& predictions);

/// See Backend::yolo_loss. Predictions and gradient are both f32 or both bf16, and do not overlap. The result
/// is the same to the bit for any number of threads.
void yolo_loss(const YoloHead& head, const YoloLossPass& pass);

/// See Backend::yolo_detect. An image's detections are appended in the order row, column, anchor, class.
/// Boxes are not clipped to the image.
void yolo_detect(const YoloHead& head, const Tensor& predictions, float threshold,
                 std::span<std::vector<Detection>> detections);

}  // namespace brightnet::cpu
