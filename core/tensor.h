// Shape and Tensor, a non-owning NHWC view of memory (usually of the plan's arena).
#pragma once

#include <cstddef>
#include <string>

#include "core/dtype.h"
#include "core/error.h"

namespace brightnet {

/// Batch, height, width, channels; the channel is the fastest index in memory.
struct Shape {
  int n = 0, h = 0, w = 0, c = 0;

  size_t count() const { return static_cast<size_t>(n) * h * w * c; }
  /// Number of channel vectors: n·h·w.
  size_t pixels() const { return static_cast<size_t>(n) * h * w; }
  bool operator==(const Shape&) const = default;
};

/// A shape as text: "8x13x13x512" (n, h, w, c).
std::string to_string(const Shape& shape);

/// Copying a Tensor copies the view, not the data. It is dense unless `stride` makes it a slice of the
/// channels of a wider tensor; only operations that say so accept slices.
struct Tensor {
  void* data = nullptr;
  Shape shape;
  DType type = DType::f32;
  int stride = 0;  ///< elements from one pixel to the next; 0: shape.c, dense

  size_t count() const { return shape.count(); }
  size_t bytes() const { return count() * size_of(type); }
  size_t pixel_stride() const { return stride > 0 ? stride : shape.c; }
  explicit operator bool() const { return data != nullptr; }

  /// Typed access; the element type must match.
  template <typename T>
  T* as() const {
    constexpr DType wanted = sizeof(T) == 4 ? DType::f32 : sizeof(T) == 1 ? DType::u8 : DType::bf16;
    BRIGHTNET_CHECK(size_of(type) == sizeof(T), "a tensor of " + std::string(enum_name(type)) +
                                                    " was read as " + std::string(enum_name(wanted)));
    return static_cast<T*>(data);
  }
};

/// Channels [first, first + channels) of a tensor.
Tensor slice_channels(const Tensor& whole, int first, int channels);

}  // namespace brightnet
