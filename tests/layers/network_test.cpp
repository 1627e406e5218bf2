// Networks as wholes: gradients by finite differences, precision, memory that is never shared too early.
#include "layers/network.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/layers/models.h"
#include "tests/logged.h"

namespace brightnet {
namespace {

using testing::BoundNetwork;
using testing::groups_factors_and_sums;
using testing::model_of;
using testing::shipped_model;

// Smooth kinds of layers, with outputs that feed several others; the other smooth kinds are in
// groups_factors_and_sums. Without max_pool, spp and activations with a kink: finite differences would step
// over the kinks.
constexpr const char* every_smooth_layer = R"(
activation: mish
head: {anchors: [[10, 12], [24, 20]], ignore_threshold: 1}  # 1: no jumps as predictions move
layers:
  - conv: {name: stem, filters: 8, size: 3, stride: 2}
  - conv: {name: a, filters: 8, size: 3, activation: swish}
  - conv: {name: b, filters: 8, size: 1, activation: logistic}
  - shortcut: {name: sum, from: [b, stem], activation: swish}
  - split: {name: half, groups: 2, part: 1}
  - conv: {name: c, filters: 8, size: 3, stride: 2, batch_norm: false}
  - upsample: {name: up, factor: 2}
  - conv: {name: d, from: sum, filters: 8, size: 1, activation: swish}
  - split: {name: part, groups: 2, part: 0}
  - conv: {name: e, filters: 8, size: 1, activation: mish}
  - conv: {name: gate, from: d, filters: 8, size: 1, activation: logistic}
  - multiply: {name: attended, from: [gate, d]}
  - space_to_depth: {name: folded, from: b, block: 2}
  - conv: {filters: 4, size: 1, activation: swish}
  - upsample: {name: unfolded, factor: 2}
  - multiply: {name: squared, from: [e, e]}
  - conv: {name: wide, from: d, filters: 12, size: 1, activation: swish}
  - shortcut: {name: first, from: [e, wide], partial: true, activation: swish}
  - shortcut: {name: some, from: [wide, e], partial: true}
  - channel_shuffle: {from: wide, groups: 4}
  - channel_shuffle: {name: mixed, groups: 2}
  - concat: {name: all, from: [up, half, d, e, sum, a, attended, unfolded, squared, first, some, mixed]}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

// Compares the gradient of each parameter array with differences of the loss, along the gradient's own signs
// and along random ones. Along its own signs all of the gradient adds up, so that a factor on it shows.
// Random signs show a missing or doubled term that this sum would hide.
void expect_gradient_matches_differences(BoundNetwork& bound) {
  bound.loss();
  const auto gradient = bound.gradients();
  const auto values = bound.values();
  const size_t trainable = bound.layout().trainable_floats();
  for (const auto& entry : bound.layout().entries()) {
    if (entry.offset >= trainable) continue;
    double size = 0;
    for (size_t i = 0; i < entry.count; ++i)
      size += std::abs(static_cast<double>(gradient[entry.offset + i]));
    for (const bool random_signs : {false, true}) {
      Random random(6, Purpose::test, 0, entry.offset);
      std::vector<float> direction(entry.count);
      double along = 0;
      for (size_t i = 0; i < entry.count; ++i) {
        const float value = gradient[entry.offset + i];
        direction[i] = (random_signs ? random.chance(0.5f) : value > 0) ? 1.0f : -1.0f;
        along += static_cast<double>(value) * direction[i];
      }
      const auto loss_at = [&](double step) {
        auto moved = values;
        for (size_t i = 0; i < entry.count; ++i)
          moved[entry.offset + i] += static_cast<float>(step * direction[i]);
        bound.set_values(moved);
        return bound.loss();
      };
      // In fp32 a difference is coarse, so its step is large, and smaller only where the loss changes
      // quickly. What that costs is extrapolated away (Richardson). The errors are at most half of
      // this tolerance.
      const double h = size > 100 ? 2e-3 : 8e-3;
      const double wide = (loss_at(h) - loss_at(-h)) / (2 * h);
      const double narrow = (loss_at(h / 2) - loss_at(-h / 2)) / h;
      EXPECT_NEAR(along, (4 * narrow - wide) / 3, 0.02 * size + 1.5e-3)
          << entry.name << (random_signs ? " along random signs" : " along its own signs");
    }
  }
  bound.set_values(values);
}

TEST(Network, GradientOfEveryParameterMatchesDifferences) {
  const auto backend = make_cpu_backend();
  BoundNetwork bound(*backend, model_of(every_smooth_layer, 3), 2, 32, Precision::fp32, Mode::train);
  give_input(bound);
  expect_gradient_matches_differences(bound);
}

TEST(Network, GradientsThroughGroupsFactorsAndSumsMatchDifferences) {
  const auto backend = make_cpu_backend();
  BoundNetwork bound(*backend, model_of(groups_factors_and_sums, 3), 2, 32, Precision::fp32, Mode::train);
  give_input(bound);
  expect_gradient_matches_differences(bound);
}

TEST(Network, GradientsOfARectangularGreyInputMatchDifferences) {
  const auto backend = make_cpu_backend();
  const std::string grey = std::string("input: {size: [32, 64], channels: 1}") + every_smooth_layer;
  BoundNetwork bound(*backend, model_of(grey.c_str(), 3), 2, {32, 64}, Precision::fp32, Mode::train);
  EXPECT_EQ(bound.model().size, InputSize(32, 64));
  EXPECT_EQ(bound.layout().find("stem.weight")->shape, (std::vector<int64_t>{8, 3, 3, 1}));
  give_input(bound);
  expect_gradient_matches_differences(bound);
}

// Sums that batch-norm writes (r1 to r3, `late`), and one that it may not write, since `d` feeds another layer
// too. The gradient of a sum is its other input's as well, which more layers add to; where one of them, `between`,
// runs backward before the summand has read it, it is copied.
constexpr const char* chains_of_shortcuts = R"(
activation: swish
head: {anchors: [[10, 12], [24, 20]], ignore_threshold: 1}
layers:
  - conv: {name: stem, filters: 8, size: 3, stride: 2}
  - conv: {filters: 4, size: 1}
  - conv: {name: b1, filters: 8, size: 3, activation: mish}
  - shortcut: {name: r1, from: [b1, stem]}
  - conv: {filters: 4, size: 1}
  - conv: {name: b2, filters: 8, size: 3}
  - shortcut: {name: r2, from: [r1, b2]}
  - conv: {name: b3, filters: 8, size: 3, activation: linear}
  - shortcut: {name: r3, from: [b3, r2]}
  - conv: {name: b4, filters: 8, size: 1}
  - conv: {name: between, from: r3, filters: 8, size: 3}
  - shortcut: {name: late, from: [b4, r3]}
  - conv: {name: d, filters: 8, size: 1}
  - shortcut: {name: two, from: [d, late]}
  - multiply: {name: product, from: [d, between]}
  - concat: {from: [two, product, r1]}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

TEST(Network, GradientThroughChainsOfShortcutsMatchesDifferences) {
  const auto backend = make_cpu_backend();
  for (const bool recompute : {false, true}) {
    SCOPED_TRACE(recompute ? "recomputed" : "kept");
    BoundNetwork bound(*backend, model_of(chains_of_shortcuts, 3), 2, 32, Precision::fp32, Mode::train,
                       recompute);
    give_input(bound);
    expect_gradient_matches_differences(bound);
  }
}

TEST(Network, TheBatchNormBeforeAShortcutWritesTheSum) {
  const auto backend = make_cpu_backend();
  BoundNetwork bound(*backend, model_of(chains_of_shortcuts, 3), 2, 32, Precision::fp32, Mode::train);
  const auto data_of = [&](const std::string& name) {
    const auto& layers = bound.model().layers;
    for (size_t i = 0; i < layers.size(); ++i) {
      if (layers[i].name == name) return bound.network().output(static_cast<int>(i)).data;
    }
    ADD_FAILURE() << name;
    return static_cast<void*>(nullptr);
  };
  EXPECT_EQ(data_of("b1"), data_of("r1"));
  EXPECT_EQ(data_of("b2"), data_of("r2"));
  EXPECT_EQ(data_of("b4"), data_of("late"));
  EXPECT_NE(data_of("d"), data_of("two"));
  EXPECT_NE(data_of("stem"), data_of("r1"));
}

TEST(Network, TinysGradientPredictsTheChangeOfItsLoss) {
  const auto backend = make_cpu_backend();
  BoundNetwork bound(*backend, shipped_model("yolov4-tiny", 3), 2, 64, Precision::fp32, Mode::train);
  give_input(bound);
  const double before = bound.loss();
  const auto gradient = bound.gradients();
  auto values = bound.values();
  double norm = 0;
  for (const float g : gradient) norm += static_cast<double>(g) * g;
  const double step = 1e-3 * before / norm;
  for (size_t i = 0; i < gradient.size(); ++i) values[i] -= static_cast<float>(step * gradient[i]);
  bound.set_values(values);
  EXPECT_NEAR((before - bound.loss()) / (step * norm), 1.0, 0.02);  // 0.992
}

TEST(Network, MicroBatchesAddUp) {
  const auto backend = make_cpu_backend();
  BoundNetwork bound(*backend, model_of(every_smooth_layer, 3), 2, 32, Precision::fp32, Mode::train);
  give_input(bound);
  bound.loss();
  const auto once = bound.gradients();
  bound.network().forward();
  bound.network().backward({1}, true);
  const auto twice = bound.gradients();
  for (const auto& entry : bound.layout().entries()) {
    if (entry.offset >= bound.layout().trainable_floats()) continue;
    for (size_t i = entry.offset; i < entry.offset + entry.count; ++i) {
      EXPECT_NEAR(twice[i], 2 * once[i], 1e-4 * std::abs(once[i]) + 1e-5);
    }
  }
}

// Folding a frozen batch-norm takes memory in which the input lies later.
TEST(Network, TheFirstStepOfAFrozenLayerSeesTheWholeInput) {
  const auto backend = make_cpu_backend();
  Model model = model_of(R"(
activation: leaky
head: {anchors: [[10, 12], [24, 20]]}
layers:
  - conv: {filters: 16, size: 3, stride: 2}
  - conv: {filters: 64, size: 7, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)",
                         3);
  model.layers[0].rate = model.layers[1].rate = 0;
  BoundNetwork bound(*backend, model, 1, 32, Precision::fp32, Mode::train);
  give_input(bound);
  bound.network().forward_backward({1}, false);
  const auto first = bound.gradients();
  bound.network().forward_backward({1}, false);
  EXPECT_EQ(first, bound.gradients());
}

TEST(Network, StepsAreReproducible) {
  const auto backend = make_cpu_backend();
  BoundNetwork a(*backend, shipped_model("demo", 3), 2, 64, Precision::fp32, Mode::train);
  BoundNetwork b(*backend, shipped_model("demo", 3), 2, 64, Precision::fp32, Mode::train);
  give_input(a);
  give_input(b);
  EXPECT_EQ(a.loss(), b.loss());
  EXPECT_EQ(a.gradients(), b.gradients());
}

TEST(Network, Bf16AgreesWithFp32) {
  const auto backend = make_cpu_backend();
  BoundNetwork exact(*backend, shipped_model("yolov4-tiny", 3), 4, 160, Precision::fp32, Mode::train);
  BoundNetwork rounded(*backend, shipped_model("yolov4-tiny", 3), 4, 160, Precision::bf16, Mode::train);
  give_input(exact);
  give_input(rounded);
  const double loss = exact.loss();
  EXPECT_NEAR(rounded.loss() / loss, 1.0, 0.005);
  const auto a = exact.gradients(), b = rounded.gradients();
  double dot = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += static_cast<double>(a[i]) * b[i];
    aa += static_cast<double>(a[i]) * a[i];
    bb += static_cast<double>(b[i]) * b[i];
  }
  // Three decimal digits through 21 normalised layers and back.
  EXPECT_GT(dot / std::sqrt(aa * bb), 0.9) << "cosine between the two gradients";
  EXPECT_NEAR(std::sqrt(bb / aa), 1.0, 0.03);
}

/// The model with `precision: fp32` in all its convolutions.
std::string widened(std::string yaml) {
  const std::string conv = "- conv: {";
  for (size_t at = 0; (at = yaml.find(conv, at)) != std::string::npos; at += conv.size())
    yaml.insert(at + conv.size(), "precision: fp32, ");
  return yaml;
}

TEST(Network, AnFp32NetworkIsTheSameWithLayersThatAskForFp32) {
  const auto backend = make_cpu_backend();
  BoundNetwork plain(*backend, model_of(every_smooth_layer, 3), 2, 32, Precision::fp32, Mode::train);
  BoundNetwork asking(*backend, model_of(widened(every_smooth_layer), 3), 2, 32, Precision::fp32,
                      Mode::train);
  give_input(plain);
  give_input(asking);
  EXPECT_EQ(plain.loss(), asking.loss());
  EXPECT_EQ(plain.gradients(), asking.gradients());
  EXPECT_EQ(plain.network().memory().arena(), asking.network().memory().arena());
}

double mean_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - b[i], 2);
    size += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / size);
}

TEST(Network, LayersThatOptOutOfBf16ComeNearerToFp32) {
  const auto backend = make_cpu_backend();
  BoundNetwork exact(*backend, model_of(every_smooth_layer, 3), 2, 32, Precision::fp32, Mode::train);
  BoundNetwork bf16(*backend, model_of(every_smooth_layer, 3), 2, 32, Precision::bf16, Mode::train);
  BoundNetwork opted(*backend, model_of(widened(every_smooth_layer), 3), 2, 32, Precision::bf16, Mode::train);
  for (auto* bound : {&exact, &bf16, &opted}) {
    give_input(*bound);
    bound->loss();
  }
  const double with = mean_distance(opted.gradients(), exact.gradients());
  const double without = mean_distance(bf16.gradients(), exact.gradients());
  EXPECT_LT(with, without);
  EXPECT_LT(with, 0.01);
}

TEST(Network, AnOptedOutLayerNormalisesWhatBf16WouldRoundAway) {
  // A convolution's output of 1 and 1.003: one number in bf16, whose next is 1.0078.
  const std::string yaml = R"(
head: {anchors: [[10, 10]]}
layers:
  - conv: {name: small, filters: 8, size: 1, activation: linear}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
)";
  const auto backend = make_cpu_backend();
  for (const bool opted : {false, true}) {
    BoundNetwork bound(*backend, model_of(opted ? widened(yaml) : yaml, 1), 1, 32, Precision::bf16,
                       Mode::train);
    auto values = bound.values();
    values[0] = 0.003f;
    values[1] = 1;
    values[2] = 0;
    bound.set_values(values);
    std::vector<uint8_t> pixels(3 * 32 * 32, 255);
    for (size_t i = 0; i < pixels.size(); i += 6) pixels[i] = 0;
    bound.network().set_batch(pixels.data(), std::vector<std::vector<Truth>>(1));
    bound.network().forward();
    const auto* output = bound.network().output(0).as<BFloat16>();
    const double expected = opted ? 0.0015 / std::sqrt(0.0015 * 0.0015 + batch_norm_epsilon) : 0.0;
    EXPECT_NEAR(static_cast<float>(output[0]), -expected, 0.01);
    EXPECT_NEAR(static_cast<float>(output[8]), expected, 0.01);
  }
}

// Inference folds the batch-norm into the convolution: with the running statistics set to the batch's own, it
// must predict what the training pass did.
TEST(Network, InferencePredictsWhatTrainingDid) {
  const auto backend = make_cpu_backend();
  // Most of an output is the head's bias, beside which an error of a layer is small: the bounds are a few
  // times the rounding, 1e-6 and 2e-4.
  for (const auto& [name, bound] : {std::pair("yolov4-tiny", 1e-5), {"yolov4", 1e-3}}) {
    BoundNetwork train(*backend, shipped_model(name, 3), 1, 192, Precision::fp32, Mode::train);
    BoundNetwork infer(*backend, shipped_model(name, 3), 1, 192, Precision::fp32, Mode::infer);
    give_input(train);
    give_input(infer);
    const auto before = train.values();
    train.network().forward();
    auto values = train.values();
    for (const auto& entry : train.layout().entries()) {
      if (entry.offset < train.layout().trainable_floats()) continue;
      // Undo the moving average; the running variance is the unbiased one, a batch normalises by the biased.
      const double n = static_cast<double>(train.network().output_shape(entry.layer).pixels());
      const double bias = entry.kind == ParameterKind::running_variance ? (n - 1) / n : 1.0;
      for (size_t i = entry.offset; i < entry.offset + entry.count; ++i) {
        values[i] = static_cast<float>(bias * (before[i] + (values[i] - before[i]) / batch_norm_momentum));
      }
    }
    infer.set_values(values);
    infer.network().infer();
    const int head = infer.network().layer_count() - 1;
    const Tensor a = train.network().output(head), b = infer.network().output(head);
    double difference = 0, size = 0;
    for (size_t i = 0; i < a.count(); ++i) {
      difference += std::pow(a.as<float>()[i] - b.as<float>()[i], 2);
      size += std::pow(a.as<float>()[i], 2);
    }
    EXPECT_LT(std::sqrt(difference / size), bound) << name;
  }
}

TEST(Network, TwoNetworksMayShareAnArena) {
  const auto backend = make_cpu_backend();
  const Model model = shipped_model("demo", 3);
  const ParameterLayout layout(model);
  auto values = initial_parameters(model, layout, 3);
  std::vector<float> gradients(layout.trainable_floats());
  const Parameters parameters{&layout, values.data(), gradients.data()};
  Network large({&model, backend.get(), &parameters, 2, 96, 96, Precision::fp32, Mode::train});
  Network small({&model, backend.get(), &parameters, 2, 64, 64, Precision::fp32, Mode::infer});
  const DeviceBuffer arena(*backend, std::max(large.memory().arena(), small.memory().arena()));
  const std::vector<uint8_t> pixels(2 * 96 * 96 * 3, 77);
  const std::vector<std::vector<Truth>> truths(2, {{{0.5f, 0.5f, 0.3f, 0.3f}, 1}});
  const auto step = [&] {
    large.bind(arena.data());
    large.set_batch(pixels.data(), truths);
    large.forward();
    large.backward({1}, false);
    return gradients;
  };
  const auto first = step();
  small.bind(arena.data());
  small.set_pixels(pixels.data());
  small.infer();
  EXPECT_EQ(first, step());
}

TEST(Network, ObjectsWithoutRoomAreLeftOutAndThatIsSaidOnce) {
  const auto backend = make_cpu_backend();
  BoundNetwork bound(*backend, shipped_model("demo", 3), 1, 64, Precision::fp32, Mode::train);
  Random random(5, Purpose::test);
  std::vector<uint8_t> pixels(64 * 64 * 3);
  for (auto& pixel : pixels) pixel = static_cast<uint8_t>(random.below(256));
  std::vector<std::vector<Truth>> truths(1);
  for (size_t i = 0; i < Network::max_truths(1) + 7; ++i) {
    truths[0].push_back({{random.uniform(0.3f, 0.7f), random.uniform(0.3f, 0.7f), 0.2f, 0.2f}, 1});
  }
  std::string text;
  {
    const testing::Logged logged;
    for (int step = 0; step < 2; ++step) bound.network().set_batch(pixels.data(), truths);
    text = logged.text();
  }
  EXPECT_NE(text.find("7 objects of a batch are ignored"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  const double loss = bound.loss();
  const auto gradients = bound.gradients();
  truths[0].resize(Network::max_truths(1));
  bound.network().set_batch(pixels.data(), truths);
  EXPECT_EQ(bound.loss(), loss);
  EXPECT_EQ(bound.gradients(), gradients);
}

TEST(Network, RefusesASizeThatDoesNotFit) {
  const auto backend = make_cpu_backend();
  const Model model = shipped_model("yolov4-tiny", 3);
  const ParameterLayout layout(model);
  const Parameters parameters{&layout, nullptr, nullptr};
  EXPECT_THROW(Network({&model, backend.get(), &parameters, 1, 400, 400, Precision::fp32, Mode::infer}),
               InputError);
}

TEST(Network, TrainingArenaSharesMemoryByLifetime) {
  const auto backend = make_cpu_backend();
  const Model model = shipped_model("yolov4-tiny", 3);
  const ParameterLayout layout(model);
  const Parameters parameters{&layout, nullptr, nullptr};
  const Network train({&model, backend.get(), &parameters, 4, 416, 416, Precision::fp32, Mode::train});
  const Network infer({&model, backend.get(), &parameters, 4, 416, 416, Precision::fp32, Mode::infer});
  EXPECT_LT(train.memory().step, train.memory().unshared * 3 / 4);
  EXPECT_LT(infer.memory().arena(), train.memory().arena() * 35 / 100);
}

}  // namespace
}  // namespace brightnet
