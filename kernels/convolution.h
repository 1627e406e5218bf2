// A convolution made for one shape: its primitives, its working weights and its workspace.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "kernels/math/activation.h"
#include "kernels/math/quantization.h"
#include "kernels/statistics_exchange.h"

namespace brightnet {

/// The ranges and scales of a convolution in 8 bits (inference only): the sums are exact, and scaled,
/// activated and rounded once.
struct QuantizedConvolution {
  QuantizedRange input;                  ///< range of the input x, which is u8
  std::vector<float> weight_scales;      ///< one for each output channel
  std::optional<QuantizedRange> output;  ///< range of the output y, which is u8; none: y is fp32
};

struct ConvolutionSpec {
  Shape input, output;                         ///< NHWC
  int kernel = 1, stride = 1, padding = 0;     ///< square, in pixels; padding on every side
  int zero_inputs = 0;                         ///< the input's last channels are zero and have no weights
  int zero_outputs = 0;                        ///< zero channels after those of y and dy, without weights
  int groups = 1;                              ///< each output reads the inputs of its own group of channels
  DType type = DType::f32;                     ///< type of activations and working weights
  bool training = true;                        ///< false: forward only
  bool input_gradient = true;                  ///< false for the layer that reads the image
  bool bias = false;                           ///< forward adds a bias per output channel
  Activation activation = Activation::linear;  ///< forward applies it after the bias (inference only)
  bool statistics = false;                     ///< batch-norm follows and can use output_sums()
  bool folded = false;                         ///< prepare() gets temporary weights, gone after it
  /// Lets the weights' gradient be summed over ranks before it is rounded. It still needs the all-reduce: a
  /// device may leave each rank's own sum, or the total on rank 0 and zero elsewhere.
  StatisticsExchange* exchange = nullptr;
  std::optional<QuantizedConvolution> quantized = {};

  /// Input channels that each output reads.
  int group_inputs() const { return (input.c - zero_inputs) / groups; }
  size_t weight_count() const {
    return static_cast<size_t>(output.c - zero_outputs) * kernel * kernel * group_inputs();
  }
  /// Includes the weights of the zero_outputs, which follow the others and are zero.
  size_t padded_weight_count() const {
    return static_cast<size_t>(output.c) * kernel * kernel * group_inputs();
  }
  /// Multiplications and additions of one forward pass over the batch.
  double flops() const { return 2.0 * output.pixels() * weight_count(); }
};

/// The operands of a convolution's calls; null where there is no such call.
struct ConvolutionTensors {
  Tensor x{}, y{};              ///< input and output of forward()
  const float* bias = nullptr;  ///< bias of forward()
  Tensor dy{};                  ///< output's gradient, which the backward passes read
  Tensor dx{}, part{};          ///< operands of backward_data() or, with a part, of add_backward_data()
  Tensor backward_x{};          ///< input that backward_weights() reads
};

/// bind() gives it memory of the network's plan: `weights` persists between steps, `workspace` is shared with
/// other layers and keeps nothing between calls.
class Convolution {
 public:
  virtual ~Convolution() = default;
  virtual size_t weight_bytes() const = 0;
  /// The least workspace that it runs with.
  virtual size_t workspace_bytes() const = 0;
  /// The largest workspace that the convolution makes use of: with more than workspace_bytes() it can choose
  /// among more implementations (extend_workspace()).
  virtual size_t most_workspace_bytes() const { return workspace_bytes(); }
  virtual void bind(void* weights, void* workspace) = 0;
  /// Tells after bind() that the workspace has `bytes`, which is more than workspace_bytes().
  virtual void extend_workspace(size_t) {}

  /// Fills the working weights from fp32 master weights in OHWI (I: those of a group); call it after each change of the
  /// masters. These must stay in place until the next call (unless `folded`): a backend may read them directly.
  virtual void prepare(const float* master) = 0;
  /// The working weights if they are the masters rounded to their type and nothing else: Backend::cast_all() then
  /// does what prepare() would do, for all convolutions at once. Null: they need prepare().
  virtual Tensor working_weights() const { return {}; }

  // Where a device chooses among implementations by trying them, these do so for all calls at once, after prepare() and
  // before the first of the calls. Otherwise each call chooses when it is first made, beside whatever else runs then.
  /// Says what choose() will be asked for, so that what earlier runs chose is made ready for many
  /// convolutions at once.
  virtual void expect(const ConvolutionTensors&) {}
  /// Chooses the implementations. The tensors are written to; weights and bias are not.
  virtual void choose(const ConvolutionTensors&) {}

  /// y = activation(x ∗ w + bias); bias is fp32, or nullptr when the spec has none. It has zeros for zero_outputs.
  virtual void forward(const Tensor& x, const float* bias, const Tensor& y) = 0;
  /// Σy and Σy² over the pixels of each channel ([2][c], in the workspace) if the last forward() computed
  /// them, as a fused convolution does when that is faster than reading y again; else nullptr.
  virtual const float* output_sums() const { return nullptr; }
  /// dx = dy ∗ wᵀ, overwriting dx. dy has zeros for zero_outputs.
  virtual void backward_data(const Tensor& dy, const Tensor& dx) = 0;
  /// dx += dy ∗ wᵀ without a pass of its own for the sum, where the device can; false: nothing was done. `part`,
  /// of dx's shape, may be used.
  virtual bool add_backward_data(const Tensor& /*dy*/, const Tensor& /*dx*/, const Tensor& /*part*/) {
    return false;
  }
  /// dw (fp32, OHWI) = or += x ∗ dy. With a null dw the result stays in the workspace, in the primitive's own
  /// layout: `bench` times that as the lower bound.
  virtual void backward_weights(const Tensor& x, const Tensor& dy, float* dw, bool accumulate) = 0;
  /// Whether dw is computed rounded to spec.type, and converted to fp32 by a pass of its own. Then
  /// rounded_backward_weights() leaves the conversion to Backend::add_rounded(), which does that of many convolutions
  /// at once.
  virtual bool rounds_weight_gradient() const { return false; }
  /// dw = x ∗ dy, of spec.padded_weight_count() elements of spec.type from a multiple of 16 bytes on; only if
  /// rounds_weight_gradient().
  virtual void rounded_backward_weights(const Tensor& /*x*/, const Tensor& /*dy*/, void* /*dw*/) {}

  /// Names of the implementations chosen, for `bench` and `doctor`.
  virtual std::string description() const = 0;
};

}  // namespace brightnet
