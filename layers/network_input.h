// The inputs that a network gets from the host for each batch: pixels and ground-truth boxes, and where they
// are in its arena (private to layers/).
#pragma once

#include <span>
#include <vector>

#include "core/box.h"
#include "kernels/backend.h"

namespace brightnet {

class NetworkInput {
 public:
  /// Makes the input for batches of this shape. A device that copies pixels during its steps alternates
  /// between two buffers. `strokes`: most strokes of a picture that the device paints; 0: it paints none.
  NetworkInput(Backend& backend, const Shape& image, bool training, int strokes);

  size_t bytes() const;
  /// Lends bytes() of the backend's memory, 64-byte aligned.
  void bind(std::byte* memory);

  void set_pixels(const uint8_t* pixels);
  void set_pixels_ahead(const uint8_t* pixels);
  /// Copies the other input's pixels within the device, in the order of its queue.
  void set_pixels(const NetworkInput& other);
  void set_pictures_ahead(const Pictures& pictures);
  /// Sets the ground truth of all images of the batch, or of the first few.
  void set_truths(std::span<const std::vector<Truth>> truths);

  /// Copies values in [0, 1] to x, instead of pixels.
  void set_values(const float* values, const Tensor& x);
  /// Converts the pixels to x, unless its values were set.
  void fill(const Tensor& x);

  /// The ground truth in the device's memory, at an address that does not change.
  TruthList truths() const { return {truths_, offsets_}; }
  static size_t max_truths(int batch) { return static_cast<size_t>(batch) * 1000; }

 private:
  Backend& backend_;
  const Shape image_;
  const PictureLayout layout_;  ///< layout of the pictures that the device paints
  void* pictures_ = nullptr;
  std::vector<Tensor> places_;
  size_t current_ = 0;                    ///< index of the last batch's pixels in places_
  bool has_values_ = false;               ///< x itself was set; the pixels are ignored
  std::vector<std::byte> narrow_values_;  ///< values converted for an x of 16 or 8 bits
  Truth* truths_ = nullptr;
  int* offsets_ = nullptr;
  bool said_left_out_ = false;
  std::vector<Truth> host_truths_;
  std::vector<int> host_offsets_;
};

}  // namespace brightnet
