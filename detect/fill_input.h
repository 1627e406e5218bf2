// Pixels become one image of a network's input.
#pragma once

#include <cstddef>

#include "data/image/placement.h"
#include "data/image/resize_filter.h"
#include "detect/sources/frame_source.h"

namespace brightnet {

/// The bytes of an input of height × width × channels values: floats in [0, 1] as darknet makes them
/// (Resize::darknet), otherwise 8-bit pixels as in training.
size_t bytes_of_input(const InputFit& fit);

/// The pixels of the input that an image of this size covers.
cv::Rect covered_by(cv::Size image, const InputFit& fit);

/// Fits images into the input and gives them its channels. Keeps its buffers: one a thread.
class InputFiller {
 public:
  /// Fills bytes_of_input() at `input`, which are aligned as floats are.
  void operator()(const ShownPixels& shown, const InputFit& fit, void* input);

 private:
  template <typename Value>
  void fill_as(const ShownPixels& shown, const InputFit& fit, Value* values);
  void resize(const ShownPixels& shown, const InputFit& fit, uint8_t* pixels);
  void resize(const ShownPixels& shown, const InputFit& fit, float* values);

  ResizeFilter resize_;
};

}  // namespace brightnet
