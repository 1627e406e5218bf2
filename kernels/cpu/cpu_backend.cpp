#include "kernels/cpu/cpu_backend.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>

#include <sys/mman.h>

#include "core/host_memory.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/add.h"
#include "kernels/cpu/batch_norm.h"
#include "kernels/cpu/cast.h"
#include "kernels/cpu/convolution.h"
#include "kernels/cpu/copy_channels.h"
#include "kernels/cpu/image.h"
#include "kernels/cpu/max_pool.h"
#include "kernels/cpu/multiply.h"
#include "kernels/cpu/optimizer.h"
#include "kernels/cpu/reduction.h"
#include "kernels/cpu/space_to_depth.h"
#include "kernels/cpu/upsample.h"
#include "kernels/cpu/yolo.h"
#include "kernels/math/loss_scaler.h"

namespace brightnet {

std::unique_ptr<Backend> make_cpu_backend() {
  return std::make_unique<CpuBackend>();
}

// Pages of 2 MiB where the size is worth it: an arena of gigabytes in pages of 4 KiB misses the TLB all the
// time. Most systems give them only to who asks.
void* CpuBackend::allocate(size_t bytes) {
  constexpr size_t huge_page = size_t{2} << 20;
  const size_t alignment = bytes >= huge_page ? huge_page : 64;
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (!memory) {
    throw DeviceError("the CPU has no " + std::to_string(bytes >> 20) + " MiB of memory left", "",
                      "Use a smaller batch, micro_batch or size.");
  }
  if (bytes >= huge_page) ::madvise(memory, bytes, MADV_HUGEPAGE);
  count_allocation(bytes);
  return memory;
}

void CpuBackend::release(void* memory, size_t bytes) {
  std::free(memory);
  count_release(bytes);
}

void CpuBackend::upload(void* device, const void* host, size_t bytes) {
  if (bytes > 0) std::memcpy(device, host, bytes);
}
void CpuBackend::download(void* host, const void* device, size_t bytes) {
  if (bytes > 0) std::memcpy(host, device, bytes);
}
void CpuBackend::copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memmove(to, from, bytes);
}
void CpuBackend::zero(void* memory, size_t bytes) {
  if (bytes > 0) std::memset(memory, 0, bytes);
}

namespace {

/// Operations here are done when they return, so that the last copy is made already.
class CpuReadback : public Readback {
 public:
  explicit CpuReadback(size_t bytes) : copy_(bytes) {}
  void request(const void* device) override {
    std::memcpy(copy_.data(), device, copy_.size());
    requested_ = true;
  }
  const void* value() override { return requested_ ? copy_.data() : nullptr; }

 private:
  std::vector<std::byte> copy_;
  bool requested_ = false;
};

class CpuWorkClock : public WorkClock {
 public:
  void begin() override { begin_ = Clock::now(); }
  void end() override { seconds_ += std::chrono::duration<double>(Clock::now() - begin_).count(); }
  double seconds() override { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_;
  double seconds_ = 0;
};

}  // namespace

std::unique_ptr<Readback> CpuBackend::make_readback(size_t bytes) {
  return std::make_unique<CpuReadback>(bytes);
}

size_t CpuBackend::free_bytes() const {
  return free_host_memory();
}

void* CpuBackend::allocate_host(size_t bytes) {
  void* memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void CpuBackend::release_host(void* memory) {
  std::free(memory);
}

std::unique_ptr<WorkClock> CpuBackend::make_work_clock() {
  return std::make_unique<CpuWorkClock>();
}

std::unique_ptr<Convolution> CpuBackend::plan_convolution(const ConvolutionSpec& spec) {
  return cpu::plan_convolution(spec);
}
void CpuBackend::bias_gradient(const Tensor& dy, float* db, bool accumulate, void* workspace,
                               StatisticsExchange* exchange) {
  cpu::bias_gradient(dy, db, accumulate, workspace, exchange);
}

size_t CpuBackend::channel_workspace(const Shape& shape) const {
  return cpu::channel_workspace(shape);
}
void CpuBackend::batch_norm_forward(const BatchNormForward& op) {
  cpu::batch_norm_forward(op);
}
void CpuBackend::batch_norm_backward(const BatchNormBackward& op) {
  cpu::batch_norm_backward(op);
}
void CpuBackend::fold_batch_norm(const BatchNormFold& op) {
  cpu::fold_batch_norm(op);
}
void CpuBackend::activation_forward(Activation activation, const Tensor& x, const Tensor& y) {
  cpu::activation_forward(activation, x, y);
}
void CpuBackend::activation_backward(Activation activation, const Tensor& x, const Tensor& dy) {
  cpu::activation_backward(activation, x, dy);
}

void CpuBackend::max_pool_forward(const PoolSpec& pool, const Tensor& x, const Tensor& y,
                                  const Tensor& argmax) {
  cpu::max_pool_forward(pool, x, y, argmax);
}
void CpuBackend::max_pool_backward(const PoolSpec& pool, const Tensor& dy, const Tensor& argmax,
                                   const Tensor& dx, bool accumulate) {
  cpu::max_pool_backward(pool, dy, argmax, dx, accumulate);
}
void CpuBackend::copy_channels(const Tensor& from, int from_channel, const Tensor& to, int to_channel,
                               int channels, bool accumulate) {
  cpu::copy_channels(from, from_channel, to, to_channel, channels, accumulate);
}
void CpuBackend::upsample_forward(int factor, const Tensor& x, const Tensor& y) {
  cpu::upsample_forward(factor, x, y);
}
void CpuBackend::upsample_backward(int factor, const Tensor& dy, const Tensor& dx, bool accumulate) {
  cpu::upsample_backward(factor, dy, dx, accumulate);
}
void CpuBackend::space_to_depth(int block, const Tensor& x, const Tensor& y) {
  cpu::space_to_depth(block, x, y);
}
void CpuBackend::space_to_depth_backward(int block, const Tensor& dy, const Tensor& dx, bool accumulate) {
  cpu::space_to_depth_backward(block, dy, dx, accumulate);
}
void CpuBackend::add(const Tensor& a, const Tensor& b, const Tensor& y) {
  cpu::add(a, b, y);
}
void CpuBackend::multiply(const Tensor& a, const Tensor& b, const Tensor& y, bool accumulate) {
  cpu::multiply(a, b, y, accumulate);
}
void CpuBackend::cast(const Tensor& from, const Tensor& to) {
  cpu::cast(from, to);
}
void CpuBackend::normalize_image(const Tensor& pixels, const Tensor& x) {
  cpu::normalize_image(pixels, x);
}

size_t CpuBackend::yolo_workspace(const YoloHead& head, const Shape& predictions) const {
  return cpu::yolo_workspace(head, predictions);
}
void CpuBackend::yolo_loss(const YoloHead& head, const YoloLossPass& pass) {
  cpu::yolo_loss(head, pass);
}
void CpuBackend::yolo_detect(const YoloHead& head, const Tensor& predictions, float threshold,
                             std::span<std::vector<Detection>> detections, void*) {
  cpu::yolo_detect(head, predictions, threshold, detections);
}

void CpuBackend::judge_step(const StepPolicy& policy, const StepEvidence& evidence, StepState* state, void*) {
  decide_step(policy, cpu::sum_of_squares(evidence.gradients, evidence.gradient_count),
              cpu::sum_of_squares(evidence.statistics, evidence.statistic_count), *state);
}
void CpuBackend::sgd_step(const SgdStep& sgd, const OptimizerArrays& arrays,
                          std::span<const ParameterRange> ranges, const StepState* state) {
  cpu::sgd_step(sgd, arrays, ranges, *state);
}
void CpuBackend::adamw_step(const AdamWStep& adam, const OptimizerArrays& arrays,
                            std::span<const ParameterRange> ranges, const StepState* state) {
  cpu::adamw_step(adam, arrays, ranges, *state);
}
void CpuBackend::settle_statistics(float* values, float* kept, float* ema, size_t count,
                                   const StepState* state) {
  cpu::settle_statistics(values, kept, ema, count, *state);
}

}  // namespace brightnet
