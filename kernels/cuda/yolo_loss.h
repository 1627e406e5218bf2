// The YOLO loss on the GPU. docs/loss.md says what is computed.
#pragma once

#include "kernels/backend.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// Bytes that yolo_loss needs for predictions of this shape (n × h × w × head.channels()).
size_t yolo_workspace(const YoloHead& head, const Shape& predictions);

/// See Backend::yolo_loss. Predictions and gradient are of the same type and do not overlap. The result is
/// the same to the bit in every run. Classes of truths are not checked here: one that the head does not have
/// pulls at no class.
void yolo_loss(const YoloHead& head, const YoloLossPass& pass, cudaStream_t stream);

}  // namespace brightnet::cuda
