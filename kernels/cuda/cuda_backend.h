// The GPU's implementation of Backend. Each operation is defined in its own file, such as
// kernels/cuda/add.cu; cuda_backend.cpp has the device's. All work is queued in one stream; images are
// uploaded through a second one.
#pragma once

#include <memory>
#include <string>

#include "kernels/backend.h"
#include "kernels/cuda/convolution.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

class CudaBackend : public Backend {
 public:
  /// Works on the current CUDA device. `name` is for users: "cuda:0 (NVIDIA H200)".
  CudaBackend(std::string name, ConvolutionFactory convolutions);
  /// A backend for planning only, which uses no device. While a LaunchList lives (kernels/traffic.h), it takes
  /// operations too, and lists them: nothing is computed, and memory is made of addresses alone.
  static std::unique_ptr<CudaBackend> planner(std::string name, ConvolutionFactory convolutions);
  ~CudaBackend() override;

  std::string name() const override { return name_; }
  bool works_beside_host() const override { return true; }
  void* native_stream() const override { return stream(); }
  /// The stream of all operations.
  const Stream& stream() const;

  void* allocate(size_t bytes) override;
  void release(void* memory, size_t bytes) override;
  size_t free_bytes() const override;
  void upload(void* device, const void* host, size_t bytes) override;
  void download(void* host, const void* device, size_t bytes) override;
  void copy(void* to, const void* from, size_t bytes) override;
  void zero(void* memory, size_t bytes) override;
  void synchronize() override;
  std::unique_ptr<Readback> make_readback(size_t bytes) override;

  void* allocate_host(size_t bytes) override;
  void release_host(void* memory) override;
  void upload_ahead(void* device, const void* host, size_t bytes) override;
  void finish_uploads() override;
  void hold_uploads() override;
  std::string why_no_jpeg_decoder() const override;
  size_t jpeg_decoder_bytes(int lanes) const override;
  std::unique_ptr<JpegDecoder> make_jpeg_decoder(int lanes) override;
  std::unique_ptr<Recording> record(const std::function<void()>& work) override;
  std::unique_ptr<WorkClock> make_work_clock() override;

  std::unique_ptr<Convolution> plan_convolution(const ConvolutionSpec& spec) override;
  bool joins_convolutions() const override { return true; }
  void bias_gradient(const Tensor& dy, float* db, bool accumulate, void* workspace,
                     StatisticsExchange*) override;

  size_t channel_workspace(const Shape& shape) const override;
  void batch_norm_forward(const BatchNormForward& op) override;
  void batch_norm_backward(const BatchNormBackward& op) override;
  void fold_batch_norm(const BatchNormFold& op) override;
  void activation_forward(Activation activation, const Tensor& x, const Tensor& y) override;
  void activation_backward(Activation activation, const Tensor& x, const Tensor& dy) override;

  void max_pool_forward(const PoolSpec& pool, const Tensor& x, const Tensor& y,
                        const Tensor& argmax) override;
  void max_pool_backward(const PoolSpec& pool, const Tensor& dy, const Tensor& argmax, const Tensor& dx,
                         bool accumulate) override;
  size_t spatial_pyramid_workspace(const Shape&, DType) const override { return 0; }
  void spatial_pyramid_forward(std::span<const int> windows, const Tensor& x, const Tensor& y,
                               std::span<const Tensor> argmax, void* workspace) override;
  void spatial_pyramid_backward(std::span<const int> windows, const Tensor& dy,
                                std::span<const Tensor> argmax, const Tensor& dx, bool accumulate,
                                void* workspace) override;
  void average_pool_forward(const AveragePool& pool, const Tensor& x, const Tensor& y) override;
  void average_pool_backward(const AveragePool& pool, const Tensor& dy, const Tensor& dx,
                             bool accumulate) override;
  void copy_channels(const Tensor& from, int from_channel, const Tensor& to, int to_channel, int channels,
                     bool accumulate) override;
  void upsample_forward(int factor, const Tensor& x, const Tensor& y) override;
  void upsample_backward(int factor, const Tensor& dy, const Tensor& dx, bool accumulate) override;
  void space_to_depth(int block, const Tensor& x, const Tensor& y) override;
  void space_to_depth_backward(int block, const Tensor& dy, const Tensor& dx, bool accumulate) override;
  void shuffle_channels(int groups, const Tensor& x, const Tensor& y, bool accumulate) override;
  void multiply(const Tensor& a, const Tensor& b, const Tensor& y, bool accumulate) override;
  void add(const Tensor& a, const Tensor& b, const Tensor& y) override;
  void scale_channels(const Tensor& x, const Tensor& factors, const Tensor& y, bool accumulate) override;
  void channel_products(const Tensor& a, const Tensor& b, const Tensor& sums) override;
  void sum_factors(const SumWeights& weights, const float* parameters, float* factors) override;
  void sum_factors_backward(const SumWeights& weights, const float* parameters, const float* factor_gradient,
                            float* gradient, bool accumulate) override;
  void cast(const Tensor& from, const Tensor& to) override;
  void cast_all(std::span<const CastPair> pairs) override;
  void add_rounded(std::span<const CastPair> pairs, bool accumulate) override;
  /// cuDNN's engines for 16-bit types want whole vectors of channels: with three they are several times slower than memory
  /// would let them be, and none computes batch-norm's sums. The 255 of a head's predictions it copies to 256 and back.
  int padded_channels(int channels, DType type) const override {
    return type == DType::f32 ? channels : (channels + 7) / 8 * 8;
  }
  void quantize(const Tensor& x, const QuantizedRange& range, const Tensor& y) override;
  void fake_quantize(const Tensor& x, const QuantizedRange& range, const Tensor& y) override;
  void fake_quantize_backward(const Tensor& x, const QuantizedRange& range, const Tensor& dy) override;
  void fake_quantize_weights(const float* w, const float* scales, size_t outputs, size_t weights_per_output,
                             float* y) override;
  void normalize_image(const Tensor& pixels, const Tensor& x) override;
  void paint_ahead(const Pictures& pictures, void* memory, const Tensor& pixels) override;

  size_t yolo_workspace(const YoloHead& head, const Shape& predictions) const override;
  void yolo_loss(const YoloHead& head, const YoloLossPass& pass) override;
  void distill_predictions(const DistilledHeads& heads, const DistillationPass& pass) override;
  void distill_features(const DistillationPass& pass) override;
  size_t yolo_detect_workspace(const YoloHead& head, const Shape& predictions) const override;
  void yolo_detect(const YoloHead& head, const Tensor& predictions, float threshold,
                   std::span<std::vector<Detection>> detections, void* workspace) override;

  void check_step(const StepPolicy& policy, const StepEvidence& evidence, StepState* state,
                  void* workspace) override;
  void optimizer_step(const OptimizerRule& rule, const OptimizerArrays& arrays,
                      std::span<const ParameterRange> ranges, const StepState* state) override;
  void commit_statistics(float* values, float* kept, float* ema, size_t count,
                         const StepState* state) override;

 private:
  struct Queues;
  struct Planner {};
  CudaBackend(Planner, std::string name, ConvolutionFactory convolutions);
  Queues& queues() const;
  /// most_tickets counters that are 0 between operations (kernels/cuda/last_block.h); nullptr while work is listed.
  unsigned* tickets() const;
  /// Whether work is added to a LaunchList instead of being queued.
  bool lists() const;

  std::string name_;
  Stream no_stream_{nullptr};        ///< a planner's
  std::unique_ptr<Queues> queues_;   ///< null in a planner
  ConvolutionFactory convolutions_;  ///< destroyed before its stream
  bool captures_ = true;             ///< no capture has failed yet
  PinnedMemory detections_;          ///< staging for their download
};

}  // namespace brightnet::cuda
