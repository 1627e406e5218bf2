// Steps that CUDA refuses to capture as a graph.
#include <gtest/gtest.h>

#include "core/log.h"
#include "tests/cuda_emulation/emulated_device.h"
#include "tests/layers/models.h"

namespace brightnet::testing {
namespace {

/// A GPU whose convolutions cannot be captured, as some engines of cuDNN.
class RefusedConvolution : public Convolution {
 public:
  RefusedConvolution(std::unique_ptr<Convolution> inner, cudaStream_t stream)
      : inner_(std::move(inner)), stream_(stream) {}
  size_t weight_bytes() const override { return inner_->weight_bytes(); }
  size_t workspace_bytes() const override { return inner_->workspace_bytes(); }
  void bind(void* weights, void* workspace) override { inner_->bind(weights, workspace); }
  void prepare(const float* master) override { inner_->prepare(master); }
  void forward(const Tensor& x, const float* bias, const Tensor& y) override {
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    cuda::check(cudaStreamIsCapturing(stream_, &capturing), "ask whether a graph is captured");
    if (capturing != cudaStreamCaptureStatusNone)
      throw DeviceError("this engine waits for its stream", "", "");
    inner_->forward(x, bias, y);
  }
  const float* output_sums() const override { return inner_->output_sums(); }
  void backward_data(const Tensor& dy, const Tensor& dx) override { inner_->backward_data(dy, dx); }
  void backward_weights(const Tensor& x, const Tensor& dy, float* dw, bool accumulate) override {
    inner_->backward_weights(x, dy, dw, accumulate);
  }
  std::string description() const override { return inner_->description(); }

 private:
  std::unique_ptr<Convolution> inner_;
  cudaStream_t stream_;
};

constexpr const char* model_yaml = R"(
head: {anchors: [[10, 12], [24, 20]]}
layers:
  - conv: {filters: 8, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

/// Gradients of three steps in fp16, whose working weights are made anew in each.
std::vector<std::vector<float>> gradients_on(Backend& backend) {
  BoundNetwork bound(backend, model_of(model_yaml, 2), 2, 32, Precision::fp16, Mode::train);
  std::vector<std::vector<float>> all;
  for (int step = 0; step < 3; ++step) {
    std::vector<float> values = bound.values();
    for (float& value : values) value *= 0.9f;
    bound.set_values(values);
    give_input(bound, static_cast<uint64_t>(step));
    bound.network().forward_backward({1.0f}, false, nullptr);
    all.push_back(bound.gradients());
  }
  return all;
}

TEST(CudaRecording, AStepThatCannotBeCapturedIsQueuedOperationByOperation) {
  spdlog::set_level(spdlog::level::err);
  cuda::CudaBackend refusing("emulated GPU", [](const ConvolutionSpec& spec, cudaStream_t stream) {
    return std::make_unique<RefusedConvolution>(emulation::make_convolution(spec, stream), stream);
  });
  EXPECT_EQ(gradients_on(refusing), gradients_on(*make_emulated_backend()));
  bool asked = false;
  EXPECT_EQ(refusing.record([&] { asked = true; }), nullptr);
  EXPECT_FALSE(asked) << "it is tried once";
}

}  // namespace
}  // namespace brightnet::testing
