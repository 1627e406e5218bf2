// What a network gets from the host for each batch: pixels and ground-truth boxes, with their places in its
// arena (private to layers/).
#pragma once

#include <span>
#include <vector>

#include "core/box.h"
#include "kernels/backend.h"

namespace brightnet {

class NetworkInput {
 public:
  /// For batches of this shape. A device that copies pixels beside its work has two places for
  /// them, by turns.
  NetworkInput(Backend& backend, const Shape& image, bool training);

  size_t bytes() const;
  /// Lends bytes() of the backend's memory, 64-byte aligned.
  void bind(std::byte* memory);

  void set_pixels(const uint8_t* pixels);
  void set_pixels_ahead(const uint8_t* pixels);
  void set_truths(std::span<const std::vector<Truth>> truths);

  /// Values in [0, 1] instead of pixels, straight to x.
  void set_values(const float* values, const Tensor& x);
  /// Makes x of the pixels, unless its values were set.
  void fill(const Tensor& x);

  /// In the device's memory, always at the same place.
  TruthList truths() const { return {truths_, offsets_}; }
  static size_t max_truths(int batch) { return static_cast<size_t>(batch) * 1000; }

 private:
  Backend& backend_;
  const Shape image_;
  std::vector<Tensor> places_;
  size_t current_ = 0;                    ///< place of the last batch
  bool has_values_ = false;               ///< x itself was set, and the pixels do not matter
  std::vector<std::byte> narrow_values_;  ///< on their way to an x of 16 bits
  Truth* truths_ = nullptr;
  int* offsets_ = nullptr;
  bool said_left_out_ = false;
  std::vector<Truth> host_truths_;
  std::vector<int> host_offsets_;
};

}  // namespace brightnet
