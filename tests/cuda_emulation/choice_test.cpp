// When convolutions choose among implementations, and on which tensors. What the emulated ones do when they choose is to
// overwrite all of them (tests/cuda_emulation/convolution.cpp), so that the results of every network here show that
// nothing was lost.
#include <gtest/gtest.h>

#include "tests/cuda_emulation/convolution.h"
#include "tests/cuda_emulation/emulated_device.h"
#include "tests/kernels/wrapped_convolution.h"
#include "tests/layers/models.h"

namespace brightnet::testing {
namespace {

/// What was called, in order.
using Calls = std::vector<std::string>;

/// Writes down its calls, and whether they are made on the tensors that it chose for.
class RecordedConvolution : public WrappedConvolution {
 public:
  RecordedConvolution(std::unique_ptr<Convolution> inner, Calls& calls)
      : WrappedConvolution(std::move(inner)), calls_(calls) {}
  void expect(const ConvolutionTensors&) override { calls_.emplace_back("expect"); }
  void choose(const ConvolutionTensors& tensors) override {
    calls_.emplace_back("choose");
    chosen_ = tensors;
    WrappedConvolution::choose(tensors);
  }
  void forward(const Tensor& x, const float* bias, const Tensor& y) override {
    called("forward", {{chosen_.x, x}, {chosen_.y, y}});
    EXPECT_EQ(chosen_.bias, bias);
    WrappedConvolution::forward(x, bias, y);
  }
  void backward_data(const Tensor& dy, const Tensor& dx) override {
    EXPECT_FALSE(chosen_.part);
    called("backward", {{chosen_.dy, dy}, {chosen_.dx, dx}});
    WrappedConvolution::backward_data(dy, dx);
  }
  bool add_backward_data(const Tensor& dy, const Tensor& dx, const Tensor& part) override {
    called("backward", {{chosen_.dy, dy}, {chosen_.dx, dx}, {chosen_.part, part}});
    return WrappedConvolution::add_backward_data(dy, dx, part);
  }
  void backward_weights(const Tensor& x, const Tensor& dy, float* dw, bool accumulate) override {
    called("backward", {{chosen_.backward_x, x}, {chosen_.dy, dy}});
    WrappedConvolution::backward_weights(x, dy, dw, accumulate);
  }

 private:
  void called(const char* name, std::initializer_list<std::pair<Tensor, Tensor>> tensors) {
    calls_.emplace_back(name);
    for (const auto& [chosen, given] : tensors) {
      EXPECT_EQ(chosen.data, given.data) << name;
      EXPECT_EQ(chosen.shape, given.shape) << name;
      EXPECT_EQ(chosen.type, given.type) << name;
    }
  }

  Calls& calls_;
  ConvolutionTensors chosen_;
};

// Twins, a tensor with two readers, a layer in fp32, a frozen one that passes a gradient on, and a concat.
constexpr const char* model_yaml = R"(
activation: leaky
head: {anchors: [[10, 12], [24, 20]]}
layers:
  - conv: {name: stem, filters: 8, size: 3, stride: 2}
  - conv: {name: left, from: stem, filters: 8, size: 1}
  - conv: {name: right, from: stem, filters: 8, size: 1}
  - conv: {name: wide, filters: 8, size: 3, precision: fp32}
  - concat: {name: both, from: [left, wide]}
  - conv: {name: a, from: both, filters: 8, size: 3}
  - conv: {name: b, from: both, filters: 8, size: 1, stride: 1, batch_norm: false}
  - shortcut: {from: [a, b]}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

size_t count(const Calls& calls, const std::string& name) {
  return static_cast<size_t>(std::count(calls.begin(), calls.end(), name));
}

TEST(CudaChoice, ConvolutionsChooseOnceBeforeAStepBeginsOnTheTensorsOfTheirCalls) {
  for (const bool recompute : {false, true}) {
    for (const Precision precision : {Precision::fp16, Precision::fp32}) {
      SCOPED_TRACE(std::string(enum_name(precision)) + (recompute ? " recomputed" : ""));
      Calls calls;
      cuda::CudaBackend gpu("emulated GPU", [&](const ConvolutionSpec& spec, cudaStream_t stream) {
        return std::make_unique<RecordedConvolution>(emulation::make_convolution(spec, stream), calls);
      });
      BoundNetwork bound(gpu, model_of(model_yaml, 2), 2, 64, precision, Mode::train, recompute);
      bound.network().allow_recording(false);
      const auto step = [&] {
        calls.clear();
        give_input(bound, 1);
        bound.network().forward_backward({1.0f}, false, nullptr,
                                         {[&] { calls.emplace_back("exchange"); }, {}, [](int) {}});
      };
      step();
      const size_t expected = count(calls, "expect"), forward = count(calls, "forward");
      EXPECT_GE(expected, 6u);
      EXPECT_EQ(count(calls, "choose"), expected);
      EXPECT_EQ(forward, expected);
      // All expected, then all chosen, then the forward pass, and only then is anything exchanged.
      EXPECT_EQ(std::find(calls.begin(), calls.end(), "choose") - calls.begin(), static_cast<long>(expected));
      EXPECT_EQ(std::find(calls.begin(), calls.end(), "forward") - calls.begin(),
                static_cast<long>(2 * expected));
      EXPECT_EQ(std::find(calls.begin(), calls.end(), "exchange") - calls.begin(),
                static_cast<long>(3 * expected));
      const std::vector<float> first = bound.gradients();
      step();
      EXPECT_EQ(count(calls, "expect") + count(calls, "choose"), 0u);
      EXPECT_EQ(bound.gradients(), first) << "what was chosen left nothing behind";
    }
  }
}

TEST(CudaChoice, InferenceChoosesBeforeItReadsItsPixels) {
  Calls calls;
  cuda::CudaBackend gpu("emulated GPU", [&](const ConvolutionSpec& spec, cudaStream_t stream) {
    return std::make_unique<RecordedConvolution>(emulation::make_convolution(spec, stream), calls);
  });
  BoundNetwork bound(gpu, model_of(model_yaml, 2), 2, 64, Precision::fp16, Mode::infer);
  const auto output = [&] {
    calls.clear();
    const std::vector<uint8_t> pixels(2 * 64 * 64 * 3, 100);
    bound.network().set_pixels(pixels.data());
    bound.network().infer();
    const Tensor predictions = bound.network().output(bound.network().layer_count() - 1);
    std::vector<std::byte> bytes(predictions.bytes());
    gpu.download(bytes.data(), predictions.data, bytes.size());
    return bytes;
  };
  const auto first = output();
  EXPECT_GE(count(calls, "choose"), 6u);
  const auto second = output();
  EXPECT_EQ(count(calls, "choose"), 0u);
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace brightnet::testing
