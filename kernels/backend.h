// Backend: every operation that a device must offer. A layer calls these and never asks which device it is
// on; adding a device means implementing this one interface. The CPU's implementation is in kernels/cpu, one
// file an operation.
//
// Conventions. Tensors are NHWC views of the device's memory, of the compute type (f32, bf16, f16) unless
// said otherwise; parameters, statistics and weight gradients are fp32. Operations are queued in order; only
// download() and synchronize() wait. Nothing here allocates after its plan was made: `workspace` comes from
// the network's arena and is as large as the operation's *_workspace() says. "accumulate" adds to the
// destination instead of overwriting it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/library_version.h"
#include "core/tensor.h"
#include "kernels/convolution.h"
#include "kernels/math/activation.h"
#include "kernels/statistics_exchange.h"
#include "kernels/step_state.h"
#include "kernels/yolo.h"

namespace brightnet {

/// z = activation(scale · (y − mean) / √(variance + ε) + shift), per channel over n·h·w. z may be a slice.
struct BatchNormForward {
  Tensor y, z;
  const float *scale = nullptr, *shift = nullptr;  ///< [c]
  float *running_mean = nullptr,
        *running_variance = nullptr;              ///< [c], moved by `momentum` towards this batch's
  float *mean = nullptr, *inverse_std = nullptr;  ///< [c], kept for the backward pass
  float momentum = 0.1f;                          ///< running = (1 − m)·running + m·batch's
  const float* sums = nullptr;                    ///< Σy and Σy², [2][c], where somebody has them already
  void* affine = nullptr;  ///< for a NormalizedInput of y; z may be null then: whoever reads it applies it
  bool statistics_known = false;  ///< z is made a second time: mean and inverse_std are read, nothing moves
  float epsilon = 1e-5f;
  Activation activation = Activation::linear;
  void* workspace = nullptr;
  StatisticsExchange* exchange = nullptr;  ///< statistics over all ranks' pixels; nullptr: over these alone
};

/// dy and the parameters' gradients from dz; the activation's argument is recomputed from y. dy may be dz,
/// and dz may be a slice.
struct BatchNormBackward {
  Tensor y, dz, dy;
  const float *scale = nullptr, *shift = nullptr, *mean = nullptr, *inverse_std = nullptr;  ///< [c]
  float *scale_gradient = nullptr, *shift_gradient = nullptr;                               ///< [c]
  bool accumulate = true;  ///< of the parameters' gradients
  bool frozen = false;     ///< running statistics were used: mean and inverse_std are constants
  Activation activation = Activation::linear;
  void* workspace = nullptr;
  /// As in the forward pass: dy then flows through statistics of all ranks' pixels. The parameters' gradients
  /// are yet to be summed over the ranks, like every gradient: what a rank gets is its own pixels' share, or
  /// the first rank gets the sum over all and the others zero, as the device finds it easier.
  StatisticsExchange* exchange = nullptr;
};

/// w' = w · scale/√(variance + ε) and b' = shift − mean · scale/√(variance + ε), per output channel: the
/// convolution that does what convolution and batch-norm with running statistics do.
struct BatchNormFold {
  const float *weight, *scale, *shift, *running_mean, *running_variance;
  float epsilon;
  int channels;
  size_t weights_per_channel;
  float *folded_weight, *folded_bias;
};

struct PoolSpec {
  int window = 2, stride = 2;
  int padding = 0;  ///< total, as in darknet: window − 1 by default, half of it (rounded down) before
};

/// Parameters [begin, end) of the flat array share a factor on the step's learning rate and a decay.
struct ParameterRange {
  size_t begin = 0, end = 0;
  float rate = 1;   ///< times StepState::rate
  float decay = 0;  ///< weight decay
};

/// The flat fp32 arrays of an optimizer step.
struct OptimizerArrays {
  size_t count = 0;  ///< elements of each
  float* values = nullptr;
  const float* gradients = nullptr;  ///< times the loss scale
  float* first = nullptr;            ///< momentum, or Adam's first moment
  float* second = nullptr;           ///< Adam's second moment; nullptr for SGD
  float* ema = nullptr;              ///< exponential moving average of the values; nullptr for none
};

/// g' = g + decay·w;  v = momentum·v + g';  w −= rate·(nesterov ? g' + momentum·v : v).
/// Decoupled (Loshchilov & Hutter 2019): g' = g, and w −= rate·decay·w beside it, with the old w.
struct SgdStep {
  float momentum = 0.9f;
  bool nesterov = false;
  bool decoupled = false;
};

/// Adam with decoupled decay (Loshchilov & Hutter 2019): w −= rate·(m̂ / (√v̂ + ε) + decay·w).
struct AdamWStep {
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
};

/// What an optimizer step is judged by, all in the device's memory.
struct StepEvidence {
  const float* gradients = nullptr;
  size_t gradient_count = 0;
  const float* statistics = nullptr;  ///< running statistics, which this step's forward passes moved
  size_t statistic_count = 0;
};

/// Truths of a batch in the device's memory: image i owns truths [offsets[i], offsets[i + 1]).
struct TruthList {
  const Truth* truths = nullptr;
  const int* offsets = nullptr;  ///< [batch + 1]
};

/// What a loss is multiplied by before it is differentiated: a constant, and a number in the device's memory
/// that may change from step to step (nullptr: 1).
struct GradientScale {
  float constant = 1;
  const float* dynamic = nullptr;
};

/// gradient = d(loss · scale)/d(predictions). The predictions may be of the compute type; the arithmetic is
/// fp32.
struct YoloLossPass {
  Tensor predictions, gradient;
  TruthList truths;
  GradientScale scale;
  YoloLoss* loss = nullptr;      ///< device memory: the loss's sums, overwritten
  LossTotals* totals = nullptr;  ///< device memory: the same are added here; nullptr: nowhere
  void* workspace = nullptr;
};

/// A variable of the device that the host follows without waiting for it: while the device computes one step,
/// the host sees the value behind the step before.
class Readback {
 public:
  virtual ~Readback() = default;
  /// Queues a copy behind all work queued so far.
  virtual void request(const void* device) = 0;
  /// The newest copy that the device has surely made by now: the last one where operations are done at once,
  /// else the last but one, which this waits for. nullptr while there is none. Valid until the next
  /// request().
  virtual const void* value() = 0;
};

/// Operations that were queued once and can be queued again as a whole.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void replay() = 0;
};

/// Adds up how long a device works on what is queued between begin() and end(). Neither waits.
class WorkClock {
 public:
  virtual ~WorkClock() = default;
  virtual void begin() = 0;
  virtual void end() = 0;
  /// Of all stretches that are done by now.
  virtual double seconds() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// Whether operations are queued and done later, beside the host; else each is done when its function
  /// returns.
  virtual bool works_beside_host() const = 0;
  /// Where operations are queued, for a library that queues its own among them: a cudaStream_t. nullptr where
  /// memory is the host's.
  virtual void* native_stream() const { return nullptr; }

  // Memory.
  virtual void* allocate(
      size_t bytes) = 0;  ///< at least 64-byte aligned; throws DeviceError when there is not enough
  virtual void release(void* memory, size_t bytes) = 0;
  virtual size_t free_bytes() const = 0;                 ///< that allocate() can still give
  size_t allocated_bytes() const { return allocated_; }  ///< now
  size_t peak_bytes() const { return peak_; }            ///< since the start
  /// The host's memory may change as soon as this returns.
  virtual void upload(void* device, const void* host, size_t bytes) = 0;
  virtual void download(void* host, const void* device, size_t bytes) = 0;
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  virtual void zero(void* memory, size_t bytes) = 0;
  virtual void synchronize() = 0;
  /// For variables of this many bytes.
  virtual std::unique_ptr<Readback> make_readback(size_t bytes) = 0;

  // Batches on their way to the device, copied beside the work that is queued.
  /// Host memory for upload_ahead(): page-locked for a GPU. Any thread may ask for it.
  virtual void* allocate_host(size_t bytes) = 0;
  virtual void release_host(void* memory) = 0;
  /// Like upload(), of memory from allocate_host(), which stays as it is until finish_uploads(). It does not
  /// wait for what was queued since the last upload_ahead(): what reads two places by turns can have one
  /// filled while it reads the other.
  virtual void upload_ahead(void* device, const void* host, size_t bytes) = 0;
  /// Waits until all uploads ahead are done, and for nothing else.
  virtual void finish_uploads() = 0;
  /// Later uploads ahead wait for everything that is queued by now.
  virtual void hold_uploads() = 0;

  /// Records the operations that `work` queues, without doing them; nullptr where nothing is won by it. They
  /// must not wait for anything, and everything they name must stay where it is.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& work) = 0;
  virtual std::unique_ptr<WorkClock> make_work_clock() = 0;

  // Convolution.
  virtual std::unique_ptr<Convolution> plan_convolution(const ConvolutionSpec& spec) = 0;
  /// db[c] = or += Σ dy over pixels; in fp32. With an exchange, as batch-norm's parameters' gradients.
  virtual void bias_gradient(const Tensor& dy, float* db, bool accumulate, void* workspace,
                             StatisticsExchange* exchange) = 0;

  // Normalisation and activation.
  virtual size_t channel_workspace(const Shape& shape) const = 0;  ///< for batch_norm_* and bias_gradient
  virtual void batch_norm_forward(const BatchNormForward& op) = 0;
  virtual void batch_norm_backward(const BatchNormBackward& op) = 0;
  virtual void fold_batch_norm(const BatchNormFold& op) = 0;
  /// y = activation(x); x and y may be the same tensor.
  virtual void activation_forward(Activation activation, const Tensor& x, const Tensor& y) = 0;
  /// dy *= activation'(x), x the activation's argument.
  virtual void activation_backward(Activation activation, const Tensor& x, const Tensor& dy) = 0;

  // Movement between layers.
  /// The output's shape is the caller's; `argmax` (u8, shape of y) remembers which element of the window won;
  /// null in inference.
  virtual void max_pool_forward(const PoolSpec& pool, const Tensor& x, const Tensor& y,
                                const Tensor& argmax) = 0;
  virtual void max_pool_backward(const PoolSpec& pool, const Tensor& dy, const Tensor& argmax,
                                 const Tensor& dx, bool accumulate) = 0;
  /// y = the max-pools of `windows` at stride 1 in their order, then x: YOLO's spatial pyramid. `argmax`: one
  /// a window as in max_pool_forward(), or all null. These two compute what single pools and copies do, and a
  /// backend that can do it in one pass overrides them.
  virtual size_t spatial_pyramid_workspace(const Shape& x, DType type) const;
  virtual void spatial_pyramid_forward(std::span<const int> windows, const Tensor& x, const Tensor& y,
                                       std::span<const Tensor> argmax, void* workspace);
  virtual void spatial_pyramid_backward(std::span<const int> windows, const Tensor& dy,
                                        std::span<const Tensor> argmax, const Tensor& dx, bool accumulate,
                                        void* workspace);
  /// Copies `channels` channels of every pixel: concat and split, both ways. Takes slices.
  virtual void copy_channels(const Tensor& from, int from_channel, const Tensor& to, int to_channel,
                             int channels, bool accumulate) = 0;
  /// Nearest neighbour: every pixel becomes factor × factor.
  virtual void upsample_forward(int factor, const Tensor& x, const Tensor& y) = 0;
  virtual void upsample_backward(int factor, const Tensor& dy, const Tensor& dx, bool accumulate) = 0;
  /// y[n, h, w, (i·block + j)·C + c] = x[n, h·block + i, w·block + j, c], C the channels of x: every block of
  /// pixels becomes one pixel (darknet's [reorg3d], ONNX's SpaceToDepth).
  virtual void space_to_depth(int block, const Tensor& x, const Tensor& y) = 0;
  virtual void space_to_depth_backward(int block, const Tensor& dy, const Tensor& dx, bool accumulate) = 0;
  /// y = a + b.
  virtual void add(const Tensor& a, const Tensor& b, const Tensor& y) = 0;
  /// y = or += a · b, element by element.
  virtual void multiply(const Tensor& a, const Tensor& b, const Tensor& y, bool accumulate) = 0;
  /// Between f32, bf16 and f16.
  virtual void cast(const Tensor& from, const Tensor& to) = 0;
  /// u8 pixels to the compute type: value / 255.
  virtual void normalize_image(const Tensor& pixels, const Tensor& x) = 0;

  // YOLO head (formulas in kernels/math/yolo.h).
  virtual size_t yolo_workspace(const YoloHead& head, const Shape& predictions) const = 0;
  /// The loss and its gradient, entirely on the device.
  virtual void yolo_loss(const YoloHead& head, const YoloLossPass& pass) = 0;
  virtual size_t yolo_detect_workspace(const YoloHead& head, const Shape& predictions) const = 0;
  /// For every prediction and class whose objectness · class probability exceeds `threshold`,
  /// appends a Detection to detections[image] (host memory; this waits). Of an image with more than
  /// max_candidates, only those of the highest scores (of equals the first), still in the order of row,
  /// column, anchor, class.
  virtual void yolo_detect(const YoloHead& head, const Tensor& predictions, float threshold,
                           std::span<std::vector<Detection>> detections, void* workspace) = 0;

  // Optimizer step (rules in kernels/math/loss_scaler.h). Nothing here waits; `state` is in the device's
  // memory, and so are the ranges, which ascend and do not overlap.
  /// Decides whether the step is applied, and how: one pass over the gradients and the statistics.
  /// `workspace`: step_workspace_bytes.
  virtual void judge_step(const StepPolicy& policy, const StepEvidence& evidence, StepState* state,
                          void* workspace) = 0;
  /// These do nothing when the step is skipped.
  virtual void sgd_step(const SgdStep& sgd, const OptimizerArrays& arrays,
                        std::span<const ParameterRange> ranges, const StepState* state) = 0;
  virtual void adamw_step(const AdamWStep& adam, const OptimizerArrays& arrays,
                          std::span<const ParameterRange> ranges, const StepState* state) = 0;
  /// Running statistics move in the forward passes, before anybody can know whether the step is sound. When
  /// it is applied, kept = values and ema = d·ema + (1 − d)·values (ema: nullptr for none); when it is
  /// skipped, values = kept, the last sound ones.
  virtual void settle_statistics(float* values, float* kept, float* ema, size_t count,
                                 const StepState* state) = 0;

 protected:
  void count_allocation(size_t bytes) {
    allocated_ += bytes;
    peak_ = allocated_ > peak_ ? allocated_ : peak_;
  }
  void count_release(size_t bytes) { allocated_ -= bytes; }

 private:
  size_t allocated_ = 0, peak_ = 0;
};

/// The CPU backend (oneDNN and OpenMP).
std::unique_ptr<Backend> make_cpu_backend();
/// The CPU backend's library for convolutions.
LibraryVersion onednn_version();

}  // namespace brightnet
