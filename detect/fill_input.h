// A decoded picture becomes one image of a network's input.
#pragma once

#include <cstdint>
#include <vector>

#include <opencv2/core.hpp>

#include "data/image/placement.h"
#include "data/image/resize_filter.h"

namespace brightnet {

/// Height × width × channels of the input.
size_t values_of_input(const InputFit& fit);

/// Fits RGB pictures into the input. Keeps its buffers: one a thread.
class InputFiller {
 public:
  /// As in training: values_of_input() bytes, with fill_value around the picture.
  void operator()(const cv::Mat& picture, const InputFit& fit, uint8_t* pixels);
  /// As darknet does (Resize::darknet): values in [0, 1].
  void operator()(const cv::Mat& picture, const InputFit& fit, float* values);

 private:
  ResizeFilter resize_;
};

}  // namespace brightnet
