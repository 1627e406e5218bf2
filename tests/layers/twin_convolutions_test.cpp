// Two convolutions that are computed as one, against the same two computed one by one; and which ones are.
#include "kernels/cpu/cpu_backend.h"
#include "tests/layers/twins.h"

namespace brightnet::testing {
namespace {

/// Twins are not joined on a CPU, where it does not pay; with this one they are, as on a GPU.
struct JoiningCpu : cpu::CpuBackend {
  bool joins_convolutions() const override { return true; }
};

TEST(TwinConvolutions, AreComputedOneByOneOnACpu) {
  const auto backend = make_cpu_backend();
  BoundNetwork bound(*backend, model_of(network_of_twins(true), 3), 1, 64, Precision::fp32, Mode::train);
  EXPECT_EQ(second_twins(bound.network()), 0);
}

TEST(TwinConvolutions, TrainAsTheyDoOneByOne) {
  JoiningCpu cpu;
  for (const bool recompute : {false, true}) {
    expect_twins_as_apart(cpu, Precision::fp32, recompute, 1e-4);
    expect_twins_as_apart(cpu, Precision::bf16, recompute, 0.06);
  }
}

TEST(TwinConvolutions, GradientsOfALayerThatHasPassedAreFinal) {
  JoiningCpu cpu;
  expect_final_gradients(cpu, Precision::fp32);
}

struct Pair {
  const char *first, *second;
  bool twins;
  Precision precision = Precision::fp32;
};

TEST(TwinConvolutions, AreAlikeInARowAndNormalized) {
  JoiningCpu cpu;
  const Pair pairs[] = {
      {"filters: 8, size: 1", "filters: 24, size: 1, activation: leaky", true},
      {"filters: 8, size: 3, stride: 2", "filters: 8, size: 3, stride: 2", true},
      {"filters: 8, size: 1", "filters: 8, size: 3", false},
      {"filters: 8, size: 3, stride: 2", "filters: 8, size: 3", false},
      {"filters: 8, size: 3", "filters: 8, size: 3, padding: 2", false},
      {"filters: 8, size: 1", "filters: 8, size: 1, groups: 2", false},
      {"filters: 8, size: 1, groups: 2", "filters: 8, size: 1, groups: 2", false},
      {"filters: 8, size: 1", "filters: 12, size: 1", false},
      {"filters: 8, size: 1", "filters: 8, size: 1, batch_norm: false", false},
      {"filters: 8, size: 1, batch_norm: false", "filters: 8, size: 1", false},
      {"filters: 8, size: 1", "filters: 8, size: 1, precision: fp32", true},
      {"filters: 8, size: 1", "filters: 8, size: 1, precision: fp32", false, Precision::bf16},
  };
  for (const Pair& pair : pairs) {
    SCOPED_TRACE(std::string(pair.first) + " | " + pair.second);
    const auto conv = [](const char* name, const char* options) {
      return std::string("  - conv: {name: ") + name + ", from: x, " + options + "}\n";
    };
    const std::string yaml =
        "activation: mish\nhead: {anchors: [[10, 12], [24, 20]]}\nlayers:\n"
        "  - conv: {name: x, filters: 8, size: 3}\n" +
        conv("a", pair.first) + conv("b", pair.second) +
        "  - conv: {name: c, from: a, filters: auto, size: 1, batch_norm: false, activation: linear}\n"
        "  - yolo: {mask: [0, 1]}\n"
        "  - conv: {name: d, from: b, filters: auto, size: 1, batch_norm: false, activation: linear}\n"
        "  - yolo: {mask: [0, 1]}\n";
    const auto twins_of = [&](const Model& model, Mode mode) {
      return second_twins(BoundNetwork(cpu, model, 1, 32, pair.precision, mode).network());
    };
    Model model = model_of(yaml, 1);
    EXPECT_EQ(twins_of(model, Mode::train), pair.twins);
    EXPECT_EQ(twins_of(model, Mode::infer), 0)
        << "their outputs would be slices, which convolutions do not read";
    for (const size_t frozen : {1, 2}) {
      Model partly = model;
      partly.layers[frozen].rate = 0;
      EXPECT_EQ(twins_of(partly, Mode::train), 0);
    }
    model.layers[0].rate = 0;  // no gradient of their input
    EXPECT_EQ(twins_of(model, Mode::train), pair.twins);
  }
}

TEST(TwinConvolutions, OfThreeInARowTwoAreOne) {
  JoiningCpu cpu;
  const Model model = model_of(R"(
activation: mish
head: {anchors: [[10, 12], [24, 20]]}
layers:
  - conv: {name: x, filters: 8, size: 3}
  - conv: {name: a, from: x, filters: 8, size: 1}
  - conv: {name: b, from: x, filters: 8, size: 1}
  - conv: {name: c, from: x, filters: 8, size: 1}
  - concat: {from: [a, b, c]}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)",
                               1);
  BoundNetwork bound(cpu, model, 1, 32, Precision::fp32, Mode::train);
  EXPECT_EQ(second_twins(bound.network()), 1);
  give_input(bound);
  EXPECT_GT(bound.loss(), 0);
}

TEST(TwinConvolutions, AreFiveInYolov4) {
  JoiningCpu cpu;
  const Model model = shipped_model("yolov4", 80);
  const ParameterLayout layout(model);
  const Parameters parameters{.layout = &layout};
  const Network network({.model = &model, .backend = &cpu, .parameters = &parameters, .batch = 1});
  EXPECT_EQ(second_twins(network), 5);
  for (int i = 0; i < network.layer_count(); ++i) {
    const ConvolutionSpec* spec = network.convolution(i);
    if (!spec || !spec->statistics) continue;
    EXPECT_GE(network.memory_needs(i).workspace, cpu.channel_workspace(spec->output));
  }
}

}  // namespace
}  // namespace brightnet::testing
