// Steps that CUDA refuses to capture as a graph.
#include <gtest/gtest.h>

#include "tests/cuda_emulation/emulated_device.h"
#include "tests/kernels/wrapped_convolution.h"
#include "tests/layers/models.h"
#include "tests/logged.h"

namespace brightnet::testing {
namespace {

/// A GPU whose convolutions cannot be captured, as some engines of cuDNN.
class RefusedConvolution : public WrappedConvolution {
 public:
  RefusedConvolution(std::unique_ptr<Convolution> inner, cudaStream_t stream)
      : WrappedConvolution(std::move(inner)), stream_(stream) {}
  void forward(const Tensor& x, const float* bias, const Tensor& y) override {
    if (cuda::is_capturing(stream_)) throw DeviceError("this engine waits for its stream", "", "");
    WrappedConvolution::forward(x, bias, y);
  }

 private:
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
  cuda::CudaBackend refusing("emulated GPU", [](const ConvolutionSpec& spec, cudaStream_t stream) {
    return std::make_unique<RefusedConvolution>(emulation::make_convolution(spec, stream), stream);
  });
  const Logged logged;
  EXPECT_EQ(gradients_on(refusing), gradients_on(*make_emulated_backend()));
  const std::string said = logged.text();
  EXPECT_NE(said.find("cannot be captured as a CUDA graph (this engine waits for its stream"),
            std::string::npos)
      << said;
  bool asked = false;
  EXPECT_EQ(refusing.record([&] { asked = true; }), nullptr);
  EXPECT_FALSE(asked) << "it is tried once";
}

constexpr const char* simota_yaml = R"(
head: {anchors: [[10, 12], [24, 20]], assignment: simota, scale_xy: 2}
layers:
  - conv: {filters: 8, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

TEST(CudaRecording, AReplayedStepHasTheAssignmentOfItsPartOfTheRun) {
  const auto gpu = make_emulated_backend();
  const auto gradients = [&](bool recording) {
    BoundNetwork bound(*gpu, model_of(simota_yaml, 2), 2, 32, Precision::fp16, Mode::train);
    bound.network().allow_recording(recording);
    std::vector<std::vector<float>> all;
    for (int step = 0; step < 8; ++step) {
      bound.network().assign_statically(step < 4);
      give_input(bound, 1);
      bound.network().forward_backward({1.0f}, false, nullptr);
      all.push_back(bound.gradients());
    }
    return all;
  };
  const auto replayed = gradients(true);
  EXPECT_EQ(replayed, gradients(false));
  EXPECT_EQ(replayed[3], replayed[0]);
  EXPECT_NE(replayed[4], replayed[3]);
  EXPECT_EQ(replayed[7], replayed[4]);
}

/// What happened between the parts of a step, and the gradients after it.
struct Trace {
  std::vector<std::string> calls;
  std::vector<std::vector<float>> gradients;
  bool operator==(const Trace&) const = default;
};

constexpr const char* deeper_yaml = R"(
head: {anchors: [[10, 12], [24, 20]]}
layers:
  - conv: {name: stem, filters: 8, size: 3, stride: 2}
  - conv: {name: a, filters: 8, size: 1}
  - conv: {name: b, filters: 8, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

/// Steps over two sizes in turn, in the same arena, each in parts that end at these layers. What is read between two
/// parts must be final: here it is the last gradients, which an all-reduce would start on.
Trace steps_in_parts(Backend& backend, const std::vector<int>& layers, bool recording) {
  const Model model = model_of(deeper_yaml, 2);
  BoundNetwork bound(backend, model, 2, 64, Precision::fp16, Mode::train);
  NetworkSetup smaller = bound.network().setup();
  smaller.height = smaller.width = 32;
  Network small(smaller);
  DeviceBuffer arena(backend, std::max(small.memory().arena(), bound.network().memory().arena()));
  Network* const networks[] = {&bound.network(), &small};
  Trace trace;
  for (int step = 0; step < 8; ++step) {
    Network& network = *networks[step % 2];
    network.allow_recording(recording);
    network.bind(arena.data());
    Random random(1, Purpose::test, 0, static_cast<uint64_t>(step));
    std::vector<uint8_t> pixels(2 * 3 * static_cast<size_t>(network.setup().height) * network.setup().width);
    for (auto& pixel : pixels) pixel = static_cast<uint8_t>(random.below(256));
    const std::vector<std::vector<Truth>> truths(2, {{{0.5f, 0.5f, 0.3f, 0.2f}, 1}});
    network.set_batch(pixels.data(), truths);
    std::vector<float> values = bound.values();
    for (float& value : values) value *= 0.95f;
    bound.set_values(values);
    std::vector<std::pair<size_t, float>> seen;  // a gradient's place, and its value between two parts
    const auto passed = [&](int layer) {
      const auto& entries = bound.layout().entries();
      const auto entry = std::find_if(entries.begin(), entries.end(),
                                      [&](const ParameterEntry& e) { return e.layer == layer; });
      trace.calls.push_back(std::to_string(layer) + ": ");
      if (entry == entries.end()) return;  // a head
      seen.emplace_back(entry->offset, bound.gradients()[entry->offset]);
      trace.calls.back() += std::to_string(seen.back().second);
    };
    network.forward_backward({8.0f}, false, nullptr,
                             {[&] { trace.calls.emplace_back("forward"); }, layers, passed});
    backend.finish_uploads();
    trace.gradients.push_back(bound.gradients());
    for (const auto& [place, value] : seen) EXPECT_EQ(value, trace.gradients.back()[place]) << "not final";
  }
  return trace;
}

TEST(CudaRecording, AStepInPartsIsThatOfOneByOneOperationsToTheBit) {
  const auto gpu = make_emulated_backend();
  const Trace queued = steps_in_parts(*gpu, {3, 1}, false);
  EXPECT_EQ(steps_in_parts(*gpu, {3, 1}, true), queued);
  ASSERT_EQ(queued.calls.size(), 24u);
  EXPECT_EQ(queued.calls[0], "forward");
  EXPECT_EQ(queued.calls[1].substr(0, 2), "3:");
  EXPECT_EQ(queued.calls[2].substr(0, 2), "1:");
  // Where the parts end changes no bit.
  EXPECT_EQ(steps_in_parts(*gpu, {}, true).gradients, queued.gradients);
  EXPECT_EQ(steps_in_parts(*gpu, {4, 2, 2, 0}, true).gradients, queued.gradients);
}

// A larger input takes a larger arena, and the networks of all sizes move there.
TEST(CudaRecording, AStepIsRecordedAnewInAnotherArena) {
  const auto gpu = make_emulated_backend();
  const auto gradients = [&](bool recording) {
    BoundNetwork bound(*gpu, model_of(model_yaml, 2), 2, 32, Precision::fp16, Mode::train);
    bound.network().allow_recording(recording);
    const DeviceBuffer other(*gpu, bound.network().memory().arena());
    std::vector<std::vector<float>> all;
    for (int step = 0; step < 8; ++step) {
      if (step == 4) bound.network().bind(other.data());
      std::vector<float> values = bound.values();
      for (float& value : values) value *= 0.9f;
      bound.set_values(values);
      give_input(bound, static_cast<uint64_t>(step));
      bound.network().forward_backward({8.0f}, false, nullptr);
      all.push_back(bound.gradients());
    }
    return all;
  };
  const auto replayed = gradients(true), queued = gradients(false);
  for (size_t step = 0; step < queued.size(); ++step) EXPECT_EQ(replayed[step], queued[step]) << step;
}

}  // namespace
}  // namespace brightnet::testing
