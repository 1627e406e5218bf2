#include "kernels/cuda/cuda_backend.h"

#include <cstdlib>
#include <utility>

#include "core/host_memory.h"
#include "core/log.h"
#include "kernels/cuda/activation.h"
#include "kernels/cuda/add.h"
#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/bias_gradient.h"
#include "kernels/cuda/cast.h"
#include "kernels/cuda/copy_channels.h"
#include "kernels/cuda/image.h"
#include "kernels/cuda/max_pool.h"
#include "kernels/cuda/multiply.h"
#include "kernels/cuda/optimizer.h"
#include "kernels/cuda/space_to_depth.h"
#include "kernels/cuda/spatial_pyramid.h"
#include "kernels/cuda/transfers.h"
#include "kernels/cuda/upsample.h"
#include "kernels/cuda/yolo_detect.h"
#include "kernels/cuda/yolo_loss.h"

namespace brightnet::cuda {
namespace {

class GraphRecording : public Recording {
 public:
  GraphRecording(Graph graph, const Stream& stream) : graph_(std::move(graph)), stream_(stream) {}
  void replay() override { graph_.launch(stream_); }

 private:
  Graph graph_;
  const Stream& stream_;
};

}  // namespace

struct CudaBackend::Queues {
  Queues() { check(cudaGetDevice(&gpu), "ask for the current GPU"); }

  int gpu = 0;
  Stream work;
  StagingRing staging;
  UploadsAhead ahead;
  YoloDetector detector;
};

CudaBackend::CudaBackend(std::string name, ConvolutionFactory convolutions)
    : name_(std::move(name)), queues_(std::make_unique<Queues>()), convolutions_(std::move(convolutions)) {}

CudaBackend::CudaBackend(Planner, std::string name, ConvolutionFactory convolutions)
    : name_(std::move(name)), convolutions_(std::move(convolutions)) {}

std::unique_ptr<CudaBackend> CudaBackend::planner(std::string name, ConvolutionFactory convolutions) {
  return std::unique_ptr<CudaBackend>(new CudaBackend(Planner{}, std::move(name), std::move(convolutions)));
}

CudaBackend::~CudaBackend() = default;

CudaBackend::Queues& CudaBackend::queues() const {
  BRIGHTNET_CHECK(queues_, "a backend that only plans was asked to compute");
  return *queues_;
}

cudaStream_t CudaBackend::stream() const {
  return queues().work;
}

void* CudaBackend::allocate(size_t bytes) {
  queues();
  void* memory = cuda::allocate(bytes);
  count_allocation(bytes);
  return memory;
}

void CudaBackend::release(void* memory, size_t bytes) {
  cuda::release(memory);
  count_release(bytes);
}

size_t CudaBackend::free_bytes() const {
  queues();
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "ask for the GPU's free memory");
  return free;
}

void CudaBackend::upload(void* device, const void* host, size_t bytes) {
  queues().staging.upload(device, host, bytes, queues().work);
}
void CudaBackend::download(void* host, const void* device, size_t bytes) {
  queues().staging.download(host, device, bytes, queues().work);
}
void CudaBackend::copy(void* to, const void* from, size_t bytes) {
  copy_async(to, from, bytes, stream());
}
void CudaBackend::zero(void* memory, size_t bytes) {
  fill_async(memory, 0, bytes, stream());
}
void CudaBackend::synchronize() {
  queues().work.synchronize();
}
std::unique_ptr<Readback> CudaBackend::make_readback(size_t bytes) {
  return cuda::make_readback(bytes, queues().work);
}

// The loader's threads ask, too, and each thread has a current GPU of its own.
void* CudaBackend::allocate_host(size_t bytes) {
  check(cudaSetDevice(queues().gpu), "choose the GPU");
  void* memory = nullptr;
  check(cudaMallocHost(&memory, bytes > 0 ? bytes : 1),
        "lock " + format_bytes(static_cast<double>(bytes)) + " of the host's memory");
  return memory;
}
void CudaBackend::release_host(void* memory) {
  cudaSetDevice(queues().gpu);  // else a thread of the loader would make itself a context on GPU 0
  cudaFreeHost(memory);
}
void CudaBackend::upload_ahead(void* device, const void* host, size_t bytes) {
  queues().ahead.upload(device, host, bytes, queues().work);
}
void CudaBackend::finish_uploads() {
  queues().ahead.finish();
}
void CudaBackend::hold_uploads() {
  queues().ahead.hold(queues().work);
}

std::unique_ptr<Recording> CudaBackend::record(const std::function<void()>& work) {
  if (!captures_) return nullptr;
  try {
    return std::make_unique<GraphRecording>(Graph::capture(stream(), work), queues().work);
  } catch (const DeviceError& e) {
    captures_ = false;
    cudaGetLastError();  // not to be taken for a later launch's
    spdlog::warn(
        "This step cannot be captured as a CUDA graph ({}). Its operations are queued one by one instead, "
        "as with --no-graph, which is slower.",
        e.what());
    return nullptr;
  }
}
std::unique_ptr<WorkClock> CudaBackend::make_work_clock() {
  return cuda::make_work_clock(queues().work);
}

std::unique_ptr<Convolution> CudaBackend::plan_convolution(const ConvolutionSpec& spec) {
  return convolutions_(spec, queues_ ? stream() : nullptr);
}
void CudaBackend::bias_gradient(const Tensor& dy, float* db, bool accumulate, void* workspace,
                                StatisticsExchange*) {
  cuda::bias_gradient(dy, db, accumulate, workspace, stream());
}

size_t CudaBackend::channel_workspace(const Shape& shape) const {
  return cuda::channel_workspace(shape);
}
void CudaBackend::batch_norm_forward(const BatchNormForward& op) {
  cuda::batch_norm_forward(op, stream());
}
void CudaBackend::batch_norm_backward(const BatchNormBackward& op) {
  cuda::batch_norm_backward(op, stream());
}
void CudaBackend::fold_batch_norm(const BatchNormFold& op) {
  cuda::fold_batch_norm(op, stream());
}
void CudaBackend::activation_forward(Activation activation, const Tensor& x, const Tensor& y) {
  cuda::activation_forward(activation, x, y, stream());
}
void CudaBackend::activation_backward(Activation activation, const Tensor& x, const Tensor& dy) {
  cuda::activation_backward(activation, x, dy, stream());
}

void CudaBackend::max_pool_forward(const PoolSpec& pool, const Tensor& x, const Tensor& y,
                                   const Tensor& argmax) {
  cuda::max_pool_forward(pool, x, y, argmax, stream());
}
void CudaBackend::max_pool_backward(const PoolSpec& pool, const Tensor& dy, const Tensor& argmax,
                                    const Tensor& dx, bool accumulate) {
  cuda::max_pool_backward(pool, dy, argmax, dx, accumulate, stream());
}
void CudaBackend::spatial_pyramid_forward(std::span<const int> windows, const Tensor& x, const Tensor& y,
                                          std::span<const Tensor> argmax, void*) {
  cuda::spatial_pyramid_forward(windows, x, y, argmax, stream());
}
void CudaBackend::spatial_pyramid_backward(std::span<const int> windows, const Tensor& dy,
                                           std::span<const Tensor> argmax, const Tensor& dx, bool accumulate,
                                           void*) {
  cuda::spatial_pyramid_backward(windows, dy, argmax, dx, accumulate, stream());
}
void CudaBackend::copy_channels(const Tensor& from, int from_channel, const Tensor& to, int to_channel,
                                int channels, bool accumulate) {
  cuda::copy_channels(from, from_channel, to, to_channel, channels, accumulate, stream());
}
void CudaBackend::upsample_forward(int factor, const Tensor& x, const Tensor& y) {
  cuda::upsample_forward(factor, x, y, stream());
}
void CudaBackend::upsample_backward(int factor, const Tensor& dy, const Tensor& dx, bool accumulate) {
  cuda::upsample_backward(factor, dy, dx, accumulate, stream());
}
void CudaBackend::space_to_depth(int block, const Tensor& x, const Tensor& y) {
  cuda::space_to_depth(block, x, y, stream());
}
void CudaBackend::space_to_depth_backward(int block, const Tensor& dy, const Tensor& dx, bool accumulate) {
  cuda::space_to_depth_backward(block, dy, dx, accumulate, stream());
}
void CudaBackend::multiply(const Tensor& a, const Tensor& b, const Tensor& y, bool accumulate) {
  cuda::multiply(a, b, y, accumulate, stream());
}
void CudaBackend::add(const Tensor& a, const Tensor& b, const Tensor& y) {
  cuda::add(a, b, y, stream());
}
void CudaBackend::cast(const Tensor& from, const Tensor& to) {
  cuda::cast(from, to, stream());
}
void CudaBackend::normalize_image(const Tensor& pixels, const Tensor& x) {
  cuda::normalize_image(pixels, x, stream());
}

size_t CudaBackend::yolo_workspace(const YoloHead& head, const Shape& predictions) const {
  return cuda::yolo_workspace(head, predictions);
}
void CudaBackend::yolo_loss(const YoloHead& head, const YoloLossPass& pass) {
  cuda::yolo_loss(head, pass, stream());
}
size_t CudaBackend::yolo_detect_workspace(const YoloHead& head, const Shape& predictions) const {
  return cuda::yolo_detect_workspace(head, predictions);
}
void CudaBackend::yolo_detect(const YoloHead& head, const Tensor& predictions, float threshold,
                              std::span<std::vector<Detection>> detections, void* workspace) {
  queues().detector.detect(head, predictions, threshold, detections, workspace, queues().work);
}

void CudaBackend::judge_step(const StepPolicy& policy, const StepEvidence& evidence, StepState* state,
                             void* workspace) {
  cuda::judge_step(policy, evidence, state, workspace, stream());
}
void CudaBackend::sgd_step(const SgdStep& sgd, const OptimizerArrays& arrays,
                           std::span<const ParameterRange> ranges, const StepState* state) {
  cuda::sgd_step(sgd, arrays, ranges, state, stream());
}
void CudaBackend::adamw_step(const AdamWStep& adam, const OptimizerArrays& arrays,
                             std::span<const ParameterRange> ranges, const StepState* state) {
  cuda::adamw_step(adam, arrays, ranges, state, stream());
}
void CudaBackend::settle_statistics(float* values, float* kept, float* ema, size_t count,
                                    const StepState* state) {
  cuda::settle_statistics(values, kept, ema, count, state, stream());
}

}  // namespace brightnet::cuda
