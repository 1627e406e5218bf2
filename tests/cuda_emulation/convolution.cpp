#include "tests/cuda_emulation/convolution.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "core/alignment.h"
#include "kernels/backend.h"
#include "kernels/cuda/convolution_kernels.h"
#include "tests/cuda_emulation/block.h"
#include "tests/cuda_emulation/memory.h"
#include "tests/cuda_emulation/queue.h"

namespace brightnet::emulation {
namespace {

/// Calls body with the element type of the tensor.
template <typename Body>
void with_element(DType type, Body&& body) {
  if (type == DType::f32) return body(float{});
  if (type == DType::f16) return body(__half{});
  body(__nv_bfloat16{});
}

void widen(const void* from, DType type, std::vector<float>& to, size_t count) {
  to.resize(count);
  with_element(type, [&](auto element) {
    const auto* elements = static_cast<const decltype(element)*>(from);
    for (size_t i = 0; i < count; ++i) to[i] = static_cast<float>(elements[i]);
  });
}

void narrow(const std::vector<float>& from, DType type, void* to) {
  with_element(type, [&](auto element) {
    auto* elements = static_cast<decltype(element)*>(to);
    for (size_t i = 0; i < from.size(); ++i) elements[i] = decltype(element)(from[i]);
  });
}

class EmulatedConvolution : public Convolution {
 public:
  EmulatedConvolution(const ConvolutionSpec& spec, cudaStream_t stream)
      : spec_(spec), zero_inputs_(spec.zero_inputs), zero_outputs_(spec.zero_outputs), stream_(stream) {
    spec_.zero_inputs = spec_.zero_outputs = 0;
    ConvolutionSpec in_fp32 = spec_;
    in_fp32.type = DType::f32;
    in_fp32.exchange = nullptr;
    plan_ = make_cpu_backend()->plan_convolution(in_fp32);
  }

  // The working weights, as cuDNN's convolutions have them, and the CPU's.
  size_t weight_bytes() const override { return working_bytes() + plan_->weight_bytes(); }
  size_t workspace_bytes() const override { return engine_bytes() + working_bytes() + sums_bytes(); }
  size_t most_workspace_bytes() const override { return workspace_bytes() + (size_t{8} << 20); }
  void bind(void* weights, void* workspace) override {
    weights_ = weights;
    extended_.data = static_cast<std::byte*>(workspace) + workspace_bytes();
    extended_.bytes = 0;
    plan_->bind(static_cast<std::byte*>(weights) + working_bytes(), workspace);
    // After what batch-norm uses, as cuDNN's are.
    gradient_ = static_cast<std::byte*>(workspace) + engine_bytes();
    sums_ = reinterpret_cast<float*>(static_cast<std::byte*>(gradient_) + working_bytes());
    if (zero_outputs_ == 0) return;
    const size_t own = flat().count() * size_of(spec_.type);
    cuda::fill_async(static_cast<std::byte*>(weights) + own, 0, working_bytes() - own, stream_);
  }

  void extend_workspace(size_t bytes) override {
    extended_.bytes = std::min(bytes, most_workspace_bytes()) - workspace_bytes();
  }

  // As cuDNN's: in fp32 training the masters themselves are read when the convolution runs.
  void prepare(const float* master) override {
    masters_ = uses_masters() ? master : nullptr;
    if (masters_) return;
    if (zero_inputs_ > 0)
      return cuda::pad_inputs(master, spec_.input.c - zero_inputs_, {weights_, flat(), spec_.type},
                              spec_.input.c, stream_);
    cuda::cast({const_cast<float*>(master), flat(), DType::f32}, {weights_, flat(), spec_.type}, stream_);
  }
  Tensor working_weights() const override {
    return uses_masters() || spec_.folded || zero_inputs_ > 0 ? Tensor{}
                                                              : Tensor{weights_, flat(), spec_.type};
  }

  // Writes to all that a choice may write to.
  void choose(const ConvolutionTensors& tensors) override {
    if (LaunchList::current()) return;
    for (const Tensor& tensor :
         {tensors.x, tensors.y, tensors.dy, tensors.dx, tensors.part, tensors.backward_x}) {
      if (!tensor) continue;
      queue_work(stream_, [tensor] {
        const size_t bytes = tensor.shape.pixels() * tensor.pixel_stride() * size_of(tensor.type);
        check(tensor.data, bytes);
        std::memset(tensor.data, 0xFF, bytes);
      });
    }
    queue_work(stream_, [this] { use_extension(); });
  }

  void forward(const Tensor& x, const float* bias, const Tensor& y) override {
    if (listed()) return;
    queue_work(stream_, [this, x, bias, y, masters = masters_] {
      use_extension();
      read(x);
      masters ? fill(masters, DType::f32) : fill(weights_, spec_.type);
      convolve(bias, y);
    });
  }
  const float* output_sums() const override {
    return spec_.statistics && spec_.type == DType::f16 && spec_.output.c % 8 == 0 ? sums_ : nullptr;
  }

  void backward_data(const Tensor& dy, const Tensor& dx) override {
    if (listed()) return;
    queue_work(stream_, [this, dy, dx, masters = masters_] {
      use_extension();
      check(dx.data, dx.bytes());
      masters ? fill(masters, DType::f32) : fill(weights_, spec_.type);
      read_gradient(dy);
      x_.resize(dx.count());
      plan_->backward_data({y_.data(), spec_.output, DType::f32}, {x_.data(), dx.shape, DType::f32});
      narrow(x_, dx.type, dx.data);
    });
  }

  bool add_backward_data(const Tensor& dy, const Tensor& dx, const Tensor&) override {
    if (listed()) return true;
    queue_work(stream_, [this, dy, dx, masters = masters_] {
      use_extension();
      check(dx.data, dx.bytes());
      masters ? fill(masters, DType::f32) : fill(weights_, spec_.type);
      read_gradient(dy);
      std::vector<float> sum;
      widen(dx.data, dx.type, sum, dx.count());
      x_.resize(dx.count());
      plan_->backward_data({y_.data(), spec_.output, DType::f32}, {x_.data(), dx.shape, DType::f32});
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += x_[i];
      narrow(sum, dx.type, dx.data);
    });
    return true;
  }

  void backward_weights(const Tensor& x, const Tensor& dy, float* dw, bool accumulate) override {
    if (spec_.type == DType::f32) {
      if (!listed()) queue_work(stream_, [=, this] { sum_products(x, dy, dw, accumulate); });
      return;
    }
    rounded_backward_weights(x, dy, gradient_);
    if (!dw) return;
    const Tensor sum{gradient_, flat(), spec_.type};
    if (zero_inputs_ == 0) return cuda::add_weight_gradient(sum, dw, accumulate, stream_);
    cuda::add_padded_weight_gradient(sum, spec_.input.c, dw, spec_.input.c - zero_inputs_, accumulate,
                                     stream_);
  }
  // As cuDNN's.
  bool rounds_weight_gradient() const override { return spec_.type != DType::f32 && zero_inputs_ == 0; }
  void rounded_backward_weights(const Tensor& x, const Tensor& dy, void* dw) override {
    if (listed()) return;
    queue_work(stream_, [=, this] {
      std::vector<float> exact(spec_.weight_count());
      sum_products(x, dy, exact.data(), false);
      check(dw, spec_.weight_count() * size_of(spec_.type));
      narrow(exact, spec_.type, dw);
    });
  }
  std::string description() const override { return "emulated by " + plan_->description(); }

 private:
  /// Uses all the workspace there is, as an engine may: with numbers that are not, should anybody else's be there.
  void use_extension() const {
    if (extended_.bytes == 0) return;
    check(extended_.data, extended_.bytes);
    std::memset(extended_.data, 0xFF, extended_.bytes);
  }

  static void check(const void* memory, size_t bytes) {
    if (!is_device(memory, bytes)) {
      throw Violation("a convolution was given " + std::to_string(bytes) + " bytes from " +
                      describe_address(memory));
    }
  }

  void read(const Tensor& x) {
    check(x.data, x.bytes());
    widen(x.data, x.type, x_, x.count());
  }
  void read_gradient(const Tensor& dy) {
    check(dy.data, spec_.output.count() * size_of(dy.type));
    widen(dy.data, dy.type, y_, spec_.output.count());
  }
  void convolve(const float* bias, const Tensor& y) {
    check(y.data, spec_.output.count() * size_of(y.type));
    if (bias) check(bias, spec_.output.c * sizeof(float));
    y_.resize(spec_.output.count());
    plan_->forward({x_.data(), spec_.input, DType::f32}, bias, {y_.data(), spec_.output, DType::f32});
    narrow(y_, y.type, y.data);
    if (output_sums()) sum_up();
  }
  void sum_products(const Tensor& x, const Tensor& dy, float* dw, bool accumulate) {
    use_extension();
    read(x);
    if (dw && spec_.type == DType::f32) check(dw, spec_.weight_count() * sizeof(float));
    read_gradient(dy);
    plan_->backward_weights({x_.data(), spec_.input, DType::f32}, {y_.data(), spec_.output, DType::f32}, dw,
                            accumulate);
  }

  void sum_up() {
    const size_t channels = static_cast<size_t>(spec_.output.c);
    check(sums_, 2 * channels * sizeof(float));
    std::vector<double> sums(2 * channels, 0.0);
    for (size_t i = 0; i < y_.size(); ++i) {
      const double value = y_[i];
      sums[i % channels] += value;
      sums[channels + i % channels] += value * value;
    }
    std::copy(sums.begin(), sums.end(), sums_);
  }

  void fill(const void* weights, DType type) {
    check(weights, spec_.weight_count() * size_of(type));
    std::vector<float> widened;
    widen(weights, type, widened, spec_.weight_count());
    plan_->prepare(widened.data());
  }

  bool uses_masters() const { return spec_.training && spec_.type == DType::f32 && !spec_.folded; }
  size_t working_bytes() const {
    return uses_masters() ? 0 : aligned(spec_.weight_count() * size_of(spec_.type), device_alignment);
  }
  size_t engine_bytes() const {
    return aligned(std::max<size_t>(plan_->workspace_bytes(), 4 << 20), device_alignment);
  }
  size_t sums_bytes() const { return 2 * sizeof(float) * spec_.output.c; }
  Shape flat() const {
    return {1, 1, 1,
            static_cast<int>(spec_.weight_count()) / spec_.output.c * (spec_.output.c - zero_outputs_)};
  }

  /// Whether this pass is only listed.
  bool listed() const {
    LaunchList* list = LaunchList::current();
    if (list) list->add_convolution({}, spec_.flops());
    return list != nullptr;
  }

  ConvolutionSpec spec_;
  const int zero_inputs_, zero_outputs_;
  cudaStream_t stream_;
  std::unique_ptr<Convolution> plan_;
  const float* masters_ = nullptr;  ///< what is computed with, unless there are working weights
  void *weights_ = nullptr, *gradient_ = nullptr;
  float* sums_ = nullptr;
  struct {
    std::byte* data = nullptr;
    size_t bytes = 0;
  } extended_;                ///< the workspace beyond what it cannot do without
  std::vector<float> x_, y_;  ///< widened operands and results, as there is no half precision on the CPU
};

}  // namespace

std::unique_ptr<Convolution> make_convolution(const ConvolutionSpec& spec, cudaStream_t stream) {
  return std::make_unique<EmulatedConvolution>(spec, stream);
}

}  // namespace brightnet::emulation
