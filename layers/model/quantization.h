// How a model computes in 8 bits: what calibration finds (detect/quantization/), files hold, and a network is planned by.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/math/activation.h"
#include "kernels/math/quantization.h"

namespace brightnet {

struct Model;

/// The ranges of one layer, of which batch-norm is folded.
struct LayerQuantization {
  /// The range of the layer's output, for the convolutions that read it in 8 bits. All inputs of a concat, and inputs and
  /// outputs of whatever only moves or compares values (moves_values()), have the same.
  std::optional<QuantizedRange> output = {};
  /// The weight scales of a convolution that is computed in 8 bits, one for each output channel. Empty: it
  /// stays in floating point.
  std::vector<float> weight_scales = {};
  /// The range of that convolution's result before its activation, for runtimes that round there (formats/onnx/).
  std::optional<QuantizedRange> before_activation = {};

  bool operator==(const LayerQuantization&) const = default;
};

/// Whether a convolution's result is rounded before its activation where that is an operator of its own.
constexpr bool rounds_before(Activation activation) {
  switch (activation) {
    case Activation::linear:
    case Activation::relu: return false;  // rounding after it gives the same
    case Activation::leaky:
    case Activation::mish:
    case Activation::swish:
    case Activation::logistic:
    case Activation::hardswish: return true;
  }
  return true;
}

/// One entry a layer of the model; none: it is not quantised. The image is read as it is, in image_range.
using Quantization = std::vector<LayerQuantization>;

/// Why a network of this model cannot be computed by its quantization, for files that were changed; empty: it can.
std::string quantization_refusal(const Model& model);

/// The outputs that share a range, because a layer moves values from one to the other: for the image (first)
/// and each layer, the place in this list of the first entry with the same range.
std::vector<int> shared_ranges(const Model& model);

}  // namespace brightnet
