// Backend: the operations that a device must implement. A layer calls these and never asks which device it is
// on; adding a device means implementing this one interface. An operation's definition is a file of its own:
// kernels/cpu/add.cpp is CpuBackend::add(), kernels/cuda/add.cu CudaBackend::add().
//
// Conventions. Tensors are dense NHWC views of device memory, of the compute type (f32, bf16, f16), unless
// stated otherwise; in 8-bit inference (CPU only) what moves or compares values takes u8 too; parameters,
// statistics and weight gradients are fp32. Arithmetic is fp32, rounded once. Operations are queued in order;
// results are bit-identical from run to run, except for convolutions on a GPU without train.deterministic.
// Nothing allocates after planning: `workspace` comes from the network's arena and has the size that the
// operation's *_workspace() returns. "accumulate" adds to the destination instead of overwriting it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/library_version.h"
#include "core/tensor.h"
#include "kernels/average_pool.h"
#include "kernels/batch_norm.h"
#include "kernels/convolution.h"
#include "kernels/device.h"
#include "kernels/distillation.h"
#include "kernels/math/activation.h"
#include "kernels/math/painting.h"
#include "kernels/max_pool.h"
#include "kernels/optimizer.h"
#include "kernels/statistics_exchange.h"
#include "kernels/weighted_sum.h"
#include "kernels/yolo.h"

namespace brightnet {

struct CastPair {
  Tensor from, to;
};

class Backend : public Device {
 public:
  // Convolution.
  virtual std::unique_ptr<Convolution> plan_convolution(const ConvolutionSpec& spec) = 0;
  /// Whether two convolutions of one input are better computed as one (layers/twin_convolutions.h).
  virtual bool joins_convolutions() const = 0;
  /// db[c] = or += Σ dy over pixels, in fp32. For `exchange` see BatchNormBackward.
  virtual void bias_gradient(const Tensor& dy, float* db, bool accumulate, void* workspace,
                             StatisticsExchange* exchange) = 0;

  // Normalisation and activation.
  /// Bytes of workspace that batch_norm_forward(), batch_norm_backward() and bias_gradient() need.
  virtual size_t channel_workspace(const Shape& shape) const = 0;
  virtual void batch_norm_forward(const BatchNormForward& op) = 0;
  virtual void batch_norm_backward(const BatchNormBackward& op) = 0;
  virtual void fold_batch_norm(const BatchNormFold& op) = 0;
  /// y = activation(x); x and y may be the same tensor.
  virtual void activation_forward(Activation activation, const Tensor& x, const Tensor& y) = 0;
  /// dy *= activation'(x), where x is the activation's input.
  virtual void activation_backward(Activation activation, const Tensor& x, const Tensor& dy) = 0;

  // Pooling.
  /// `argmax` (u8, shape of y) receives the position of each maximum in its window, row · window + column;
  /// null in inference.
  virtual void max_pool_forward(const PoolSpec& pool, const Tensor& x, const Tensor& y,
                                const Tensor& argmax) = 0;
  /// Adds every dy to the element of dx that was its window's maximum; the others become 0 or, with
  /// `accumulate`, keep their value.
  virtual void max_pool_backward(const PoolSpec& pool, const Tensor& dy, const Tensor& argmax,
                                 const Tensor& dx, bool accumulate) = 0;
  /// y = concat(max-pool of x with each of `windows` at stride 1, x): YOLO's spatial pyramid. y has 1 +
  /// windows times the channels of x and may be a slice. `argmax`: one per window as in max_pool_forward(),
  /// or all null. The defaults use single pools and copies; a backend can override them with one pass.
  virtual size_t spatial_pyramid_workspace(const Shape& x, DType type) const;
  virtual void spatial_pyramid_forward(std::span<const int> windows, const Tensor& x, const Tensor& y,
                                       std::span<const Tensor> argmax, void* workspace);
  virtual void spatial_pyramid_backward(std::span<const int> windows, const Tensor& dy,
                                        std::span<const Tensor> argmax, const Tensor& dx, bool accumulate,
                                        void* workspace);
  /// y = the mean of x over each window; elements outside x do not count.
  virtual void average_pool_forward(const AveragePool& pool, const Tensor& x, const Tensor& y) = 0;
  /// dx = or += the sum over the windows that an element is in of dy over the window's elements.
  virtual void average_pool_backward(const AveragePool& pool, const Tensor& dy, const Tensor& dx,
                                     bool accumulate) = 0;

  // Movement between layers.
  /// Copies channels [from_channel, from_channel + channels) of every pixel to those from to_channel on; the
  /// other channels of `to` are untouched. For concat and split. Accepts slices, which must not overlap.
  virtual void copy_channels(const Tensor& from, int from_channel, const Tensor& to, int to_channel,
                             int channels, bool accumulate) = 0;
  /// Nearest neighbour: every pixel of x becomes factor × factor pixels of y.
  virtual void upsample_forward(int factor, const Tensor& x, const Tensor& y) = 0;
  /// dx = or += the sum over each factor × factor pixels of dy.
  virtual void upsample_backward(int factor, const Tensor& dy, const Tensor& dx, bool accumulate) = 0;
  /// y[n, h, w, (i·block + j)·C + c] = x[n, h·block + i, w·block + j, c], C the channels of x: every block of
  /// pixels becomes one pixel, its rows one after the other (darknet's [reorg3d], ONNX's SpaceToDepth).
  virtual void space_to_depth(int block, const Tensor& x, const Tensor& y) = 0;
  /// dx = or += dy, permuted back.
  virtual void space_to_depth_backward(int block, const Tensor& dy, const Tensor& dx, bool accumulate) = 0;
  /// y[n, h, w, j·groups + i] = or += x[n, h, w, i·(C / groups) + j], C the channels, a multiple of `groups`: equal groups
  /// of channels are interleaved. With C / groups groups it is permuted back.
  virtual void shuffle_channels(int groups, const Tensor& x, const Tensor& y, bool accumulate) = 0;

  // Element by element.
  /// y = a + b; y may be a or b.
  virtual void add(const Tensor& a, const Tensor& b, const Tensor& y) = 0;
  /// y = or += a · b; y may be a or b.
  virtual void multiply(const Tensor& a, const Tensor& b, const Tensor& y, bool accumulate) = 0;
  /// y[n, h, w, c] = or += x[n, h, w, c] · factors[n, c]; y may be x. `factors`: fp32, [images or 1, 1, 1, c],
  /// one row for each image or one for all.
  virtual void scale_channels(const Tensor& x, const Tensor& factors, const Tensor& y, bool accumulate) = 0;
  /// sums[n, c] = Σ a · b over the pixels of image n, or of all images where `sums` has one row (fp32, as the
  /// factors of scale_channels(), whose gradient this is).
  virtual void channel_products(const Tensor& a, const Tensor& b, const Tensor& sums) = 0;
  /// The weights of a weighted sum: factors[i, c], fp32, one for each of `inputs` inputs and channel, made from
  /// the parameters (kernels/weighted_sum.h).
  virtual void sum_factors(const SumWeights& weights, const float* parameters, float* factors) = 0;
  /// Computes the gradient of the parameters from that of the factors, and writes it or adds it to
  /// `gradient`.
  virtual void sum_factors_backward(const SumWeights& weights, const float* parameters,
                                    const float* factor_gradient, float* gradient, bool accumulate) = 0;
  /// Converts between compute types, rounding to nearest even; NaN stays NaN, overflow becomes infinite. The
  /// memory must not overlap.
  virtual void cast(const Tensor& from, const Tensor& to) = 0;
  /// Does cast() of each pair. A GPU does hundreds of small ones in one launch.
  virtual void cast_all(std::span<const CastPair> pairs) {
    for (const CastPair& pair : pairs) cast(pair.from, pair.to);
  }
  /// Converts `from` to fp32 for each pair and writes it or adds it to `to`, for weight gradients that
  /// convolutions leave rounded (Convolution::rounds_weight_gradient()). A GPU does hundreds of them in one
  /// launch.
  virtual void add_rounded(std::span<const CastPair> pairs, bool accumulate) = 0;
  /// The number of channels that an image of `channels` channels, or the predictions that a YOLO head reads,
  /// have in a network's memory. Where that is more than `channels`, the last are zero: normalize_image()
  /// writes them, and yolo_loss() those of the gradient. Convolutions do without weights for them
  /// (ConvolutionSpec::zero_inputs and zero_outputs).
  virtual int padded_channels(int channels, DType /*type*/) const { return channels; }
  /// y = x in 8 bits (kernels/math/quantization.h), from fp32 to u8.
  virtual void quantize(const Tensor& x, const QuantizedRange& range, const Tensor& y) = 0;
  /// y = x rounded to the values that 8 bits of the range have, in fp32; y may be x.
  virtual void fake_quantize(const Tensor& x, const QuantizedRange& range, const Tensor& y) = 0;
  /// Straight through (Bengio et al. 2013): dy stays where x is within the range, and becomes 0 where it saturates.
  virtual void fake_quantize_backward(const Tensor& x, const QuantizedRange& range, const Tensor& dy) = 0;
  /// y = w rounded to `scales`, one for each of so many outputs, whose weights follow each other. fp32, all of it in the
  /// device's memory.
  virtual void fake_quantize_weights(const float* w, const float* scales, size_t outputs,
                                     size_t weights_per_output, float* y) = 0;
  /// Converts u8 pixels to the compute type: value / 255, correctly rounded to fp32. Channels that only x has
  /// become zero.
  virtual void normalize_image(const Tensor& pixels, const Tensor& x) = 0;
  /// Uploads a batch's pictures as upload_ahead() does, into `memory`, which has pictures.layout.bytes(), and
  /// in the same order of work paints what they show (kernels/math/painting.h) into `pixels`, u8.
  virtual void paint_ahead(const Pictures& pictures, void* memory, const Tensor& pixels) = 0;

  // YOLO head (formulas in kernels/math/yolo.h). Predictions and their gradient are dense but for padded_channels().
  virtual size_t yolo_workspace(const YoloHead& head, const Shape& predictions) const = 0;
  /// Computes the loss and its gradient, entirely on the device.
  virtual void yolo_loss(const YoloHead& head, const YoloLossPass& pass) = 0;
  virtual size_t yolo_detect_workspace(const YoloHead& head, const Shape& predictions) const = 0;
  /// Finds detections: for every prediction and class whose objectness · class probability exceeds
  /// `threshold`, appends a Detection to detections[image] (host memory; this synchronizes). Boxes are not
  /// clipped to the image. An image with more than max_candidates keeps those with the highest scores (of
  /// equals the first), in the order of row, column, anchor, class.
  virtual void yolo_detect(const YoloHead& head, const Tensor& predictions, float threshold,
                           std::span<std::vector<Detection>> detections, void* workspace) = 0;

  // Distillation (formulas in kernels/math/distillation.h); the workspace is distillation_workspace().
  /// Adds to the gradient of a head's predictions that of their loss against a teacher's.
  virtual void distill_predictions(const DistilledHeads& heads, const DistillationPass& pass) = 0;
  /// Writes the gradient of features, dense as the teacher's are, that are to become the teacher's.
  virtual void distill_features(const DistillationPass& pass) = 0;

  // Optimizer step (rules in kernels/math/optimizer.h and loss_scaler.h). Nothing here synchronizes; `state` and the ranges,
  // which ascend and do not overlap, are in device memory.
  /// Decides whether the step is applied, and with which gradient factor, in one pass over the gradients and
  /// the statistics. `workspace`: step_workspace_bytes.
  virtual void check_step(const StepPolicy& policy, const StepEvidence& evidence, StepState* state,
                          void* workspace) = 0;
  /// Takes the rule's step with every parameter in a range, with its gradient times
  /// StepState::gradient_factor and the rate_of() the range, and sets ema = d·ema + (1 − d)·value (ema:
  /// nullptr for none). A skipped step changes nothing.
  virtual void optimizer_step(const OptimizerRule& rule, const OptimizerArrays& arrays,
                              std::span<const ParameterRange> ranges, const StepState* state) = 0;
  /// Forward passes update the running statistics (`values`) before it is known whether the step is finite.
  /// An applied step sets kept = values and ema = d·ema + (1 − d)·values (ema: nullptr for none); a skipped
  /// step restores values = kept, those of the last applied step.
  virtual void commit_statistics(float* values, float* kept, float* ema, size_t count,
                                 const StepState* state) = 0;
};

/// The CPU backend (oneDNN and OpenMP).
std::unique_ptr<Backend> make_cpu_backend();
/// The CPU backend's library for convolutions.
LibraryVersion onednn_version();

}  // namespace brightnet
