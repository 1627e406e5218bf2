#include "tests/cuda_emulation/convolution.h"

#include <cstring>
#include <limits>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/backend.h"
#include "tests/cuda_emulation/block.h"
#include "tests/cuda_emulation/memory.h"
#include "tests/cuda_emulation/queue.h"

namespace brightnet::emulation {
namespace {

bool may_normalize = true;
int passes_that_normalized = 0;

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

class EmulatedConvolution : public Convolution, public NormalizingConvolution {
 public:
  EmulatedConvolution(const ConvolutionSpec& spec, cudaStream_t stream) : spec_(spec), stream_(stream) {
    ConvolutionSpec in_fp32 = spec;
    in_fp32.type = DType::f32;
    in_fp32.exchange = nullptr;
    plan_ = make_cpu_backend()->plan_convolution(in_fp32);
  }

  size_t weight_bytes() const override { return plan_->weight_bytes(); }
  size_t workspace_bytes() const override {
    return std::max<size_t>(plan_->workspace_bytes(), 4 << 20) + 2 * sizeof(float) * spec_.output.c;
  }
  void bind(void* weights, void* workspace) override {
    plan_->bind(weights, workspace);
    // Behind what batch-norm uses, as cuDNN's are.
    sums_ =
        reinterpret_cast<float*>(static_cast<std::byte*>(workspace) + workspace_bytes()) - 2 * spec_.output.c;
  }

  // As cuDNN's: in fp32 training the masters themselves are read when the convolution runs.
  void prepare(const float* master) override {
    masters_ = spec_.training && spec_.type == DType::f32 && !spec_.folded ? master : nullptr;
    if (!masters_) queue_work(stream_, [this, master] { fill(master); });
  }

  void forward(const Tensor& x, const float* bias, const Tensor& y) override {
    queue_work(stream_, [this, x, bias, y, masters = masters_] {
      read(x);
      if (masters) fill(masters);
      convolve(bias, y);
    });
  }
  void forward(const NormalizedInput& input, const float* bias, const Tensor& y) override {
    queue_work(stream_, [this, input, bias, y] {
      read(input);
      convolve(bias, y);
    });
  }
  const float* output_sums() const override {
    return spec_.statistics && spec_.type == DType::f16 && spec_.output.c % 8 == 0 ? sums_ : nullptr;
  }

  void backward_data(const Tensor& dy, const Tensor& dx) override {
    queue_work(stream_, [this, dy, dx, masters = masters_] {
      check(dy.data, dy.bytes());
      check(dx.data, dx.bytes());
      if (masters) fill(masters);
      widen(dy.data, dy.type, y_, dy.count());
      x_.resize(dx.count());
      plan_->backward_data({y_.data(), dy.shape, DType::f32}, {x_.data(), dx.shape, DType::f32});
      narrow(x_, dx.type, dx.data);
    });
  }

  void backward_weights(const Tensor& x, const Tensor& dy, float* dw, bool accumulate) override {
    queue_work(stream_, [this, x, dy, dw, accumulate] {
      read(x);
      sum_products(dy, dw, accumulate);
    });
  }
  void backward_weights(const NormalizedInput& input, const Tensor& dy, float* dw, bool accumulate) override {
    queue_work(stream_, [this, input, dy, dw, accumulate] {
      read(input);
      sum_products(dy, dw, accumulate);
    });
  }

  NormalizingConvolution* normalizing() override {
    return spec_.normalized_input && spec_.statistics && spec_.type == DType::f16 && spec_.input.c % 8 == 0
               ? this
               : nullptr;
  }
  // As on a GPU x is good for nothing then.
  bool is_faster(const NormalizedInput&, const Tensor& x, const Tensor& y,
                 const std::function<void()>& apply) override {
    apply();
    queue_work(stream_, [x, y] {
      for (const Tensor& tensor : {x, y}) {
        check(tensor.data, tensor.bytes());
        std::memset(tensor.data, 0xff, tensor.bytes());
      }
    });
    return may_normalize && spec_.kernel > 1;
  }

  std::string description() const override { return "emulated by " + plan_->description(); }

 private:
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
  /// The application is fp32, of coefficients in half precision; what comes out is rounded for the tensor
  /// cores.
  void read(const NormalizedInput& input) {
    ++passes_that_normalized;
    read(input.y);
    const size_t channels = static_cast<size_t>(spec_.input.c);
    check(input.affine, 2 * channels * size_of(spec_.type));
    std::vector<float> affine;
    widen(input.affine, spec_.type, affine, 2 * channels);
    with_activation(spec_.input_activation, [&]<Activation A>() {
      for (size_t i = 0; i < x_.size(); ++i)
        x_[i] = activate<A>(affine[i % channels] * x_[i] + affine[channels + i % channels]);
    });
    with_element(spec_.type, [&](auto element) {
      for (float& value : x_) value = static_cast<float>(decltype(element)(value));
    });
  }
  void convolve(const float* bias, const Tensor& y) {
    check(y.data, y.bytes());
    if (bias) check(bias, spec_.output.c * sizeof(float));
    y_.resize(y.count());
    plan_->forward({x_.data(), spec_.input, DType::f32}, bias, {y_.data(), y.shape, DType::f32});
    narrow(y_, y.type, y.data);
    if (output_sums()) sum_up();
  }
  void sum_products(const Tensor& dy, float* dw, bool accumulate) {
    check(dy.data, dy.bytes());
    if (dw) check(dw, spec_.weight_count() * sizeof(float));
    widen(dy.data, dy.type, y_, dy.count());
    plan_->backward_weights({x_.data(), spec_.input, DType::f32}, {y_.data(), dy.shape, DType::f32}, dw,
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

  void fill(const float* master) {
    check(master, spec_.weight_count() * sizeof(float));
    // Working weights are of the compute type.
    std::vector<float> weights(master, master + spec_.weight_count());
    with_element(spec_.type, [&](auto element) {
      for (float& weight : weights) weight = static_cast<float>(decltype(element)(weight));
    });
    plan_->prepare(weights.data());
  }

  ConvolutionSpec spec_;
  cudaStream_t stream_;
  std::unique_ptr<Convolution> plan_;
  const float* masters_ = nullptr;  ///< what is computed with, unless there are working weights
  float* sums_ = nullptr;
  std::vector<float> x_, y_;  ///< widened operands and results, as there is no half precision on the CPU
};

}  // namespace

std::unique_ptr<Convolution> make_convolution(const ConvolutionSpec& spec, cudaStream_t stream) {
  return std::make_unique<EmulatedConvolution>(spec, stream);
}

void let_convolutions_normalize(bool allowed) {
  may_normalize = allowed;
}
int normalizing_passes() {
  return passes_that_normalized;
}

}  // namespace brightnet::emulation
