#include "bench/traffic.h"

#include <optional>

#include <gtest/gtest.h>

#include "brightnet/benchmark.h"
#include "core/error.h"
#include "core/json.h"
#include "layers/model/reader.h"
#include "tests/paths.h"

namespace brightnet {
namespace {

using testing::source_dir;

constexpr const char* two_convolutions = R"(
activation: leaky
head: {anchors: [[10, 12], [24, 20]]}
layers:
  - conv: {name: first, filters: 16, size: 3}
  - conv: {name: predict, filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

TrafficOptions options_of(const std::string& card) {
  TrafficOptions options;
  options.batch = 2;
  options.size = 64;
  options.card = parse_card(card, options.precision);
  return options;
}

std::optional<StepTraffic> count(const Model& model, const TrafficOptions& options) {
  RunConfig config;
  config.ema.decay = 0.9998f;
  config.ema.ramp = 2000.0f;
  try {
    return count_traffic(config, model, options);
  } catch (const DeviceError&) {
    return std::nullopt;  // a build without CUDA
  }
}

TEST(Traffic, KnowsCardsByNameAndByNumbers) {
  const Card h200 = parse_card("h200", Precision::fp16);
  EXPECT_NEAR(h200.bytes_per_s, 4.0e12, 1e9);
  EXPECT_NEAR(h200.flops_per_s, 780e12, 1e9);
  EXPECT_LT(parse_card("h200", Precision::fp32).flops_per_s, h200.flops_per_s / 10);
  EXPECT_LT(parse_card("t4", Precision::fp16).bytes_per_s, h200.bytes_per_s / 10);
  EXPECT_EQ(parse_card("h200", Precision::bf16).flops_per_s, h200.flops_per_s);
  EXPECT_NEAR(parse_card("h200", Precision::tf32).flops_per_s, 494.0 / 989 * h200.flops_per_s, 1e9);
  EXPECT_EQ(h200.multiprocessors, 132);
  EXPECT_EQ(parse_card("t4", Precision::fp16).multiprocessors, 40);
  EXPECT_EQ(parse_card("1.5,200", Precision::fp16).bytes_per_s, 1.5e12);
  EXPECT_EQ(parse_card("1.5,200", Precision::fp16).flops_per_s, 200e12);
  for (const char* wrong : {"", "h100x", "1.5", "1.5,", "0,200", "1,2,3", "-1,5"})
    EXPECT_THROW(parse_card(wrong, Precision::fp16), InputError) << wrong;
}

TEST(Traffic, AStepOfTwoConvolutionsByHand) {
  const Model model = parse_model(YamlDocument::parse(two_convolutions, "test.yaml"), 3);
  const auto traffic = count(model, options_of("1,100"));
  if (!traffic) GTEST_SKIP() << "this build has no CUDA";
  constexpr double pixels = 2 * 64 * 64, half = 2;
  // The image has eight channels on a GPU, and the first convolution weights of as many.
  constexpr double image = pixels * 8 * half, hidden = pixels * 16 * half, predictions = pixels * 16 * half;
  constexpr double first_weights = 16 * 72 * half, weights = 16 * 16 * half;
  // Forward and weights' gradient of both, and the data's gradient of the second.
  const LayerTraffic& first = traffic->layers[0];
  EXPECT_NEAR(first.work.convolution_bytes, 2 * (image + hidden + first_weights), 1000);
  EXPECT_NEAR(traffic->layers[1].work.convolution_bytes, 3 * (hidden + predictions + weights), 1000);
  EXPECT_EQ(first.work.flops, 2 * 2 * pixels * 16 * 72);
  EXPECT_EQ(traffic->layers[1].work.flops, 3 * 2 * pixels * 16 * 16);
  // Forward reads y, twice where cuDNN makes no sums, and writes z; backward reads y and dz twice and
  // writes dy. Partial sums and weights are the rest.
  EXPECT_NEAR(first.work.own_bytes / hidden, 8, 1);
  EXPECT_EQ(traffic->layers.back().name, "input, update");
}

TEST(Traffic, TwoConvolutionsOfOneInputReadItOnce) {
  const Model model = parse_model(YamlDocument::parse(R"(
activation: mish
head: {anchors: [[10, 12], [24, 20]]}
layers:
  - conv: {name: stem, filters: 16, size: 3}
  - conv: {name: bypass, from: stem, filters: 8, size: 1}
  - conv: {name: main, from: stem, filters: 24, size: 1}
  - concat: {from: [main, bypass]}
  - conv: {name: predict, filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)",
                                                      "test.yaml"),
                                  3);
  const auto traffic = count(model, options_of("1,100"));
  if (!traffic) GTEST_SKIP() << "this build has no CUDA";
  constexpr double pixels = 2 * 64 * 64, half = 2;
  constexpr double x = pixels * 16 * half, y = pixels * (8 + 24) * half, weights = 16 * (8 + 24) * half;
  // Forward, the data's and the weights' gradient, each once for both.
  EXPECT_NEAR(traffic->layers[1].work.convolution_bytes, 3 * (x + y + weights), 1000);
  EXPECT_EQ(traffic->layers[1].work.flops, 3 * 2 * pixels * 16 * (8 + 24));
  EXPECT_EQ(traffic->layers[2].work.convolution_bytes, 0);
  EXPECT_GT(traffic->layers[2].work.own_bytes, 6 * pixels * 24 * half) << "batch-norm of its own";
  // y is read once forward and once for each half of the gradient: its sums come with the convolution.
  EXPECT_LT(traffic->layers[1].work.own_bytes + traffic->layers[2].work.own_bytes, 7.5 * y);
}

// The measure of docs/gpu.md: what is added to a step's traffic shows here first.
TEST(Traffic, Yolov4sStepStaysWithinWhatIsDocumented) {
  TrafficOptions options = options_of("h200");
  options.batch = 64;
  options.size = 608;
  const auto traffic = count(load_model(source_dir() / "configs/models/yolov4.yaml", 80), options);
  if (!traffic) GTEST_SKIP() << "this build has no CUDA";
  EXPECT_LE(traffic->total.own_bytes, 109.5e9);
  EXPECT_LE(traffic->unfused_own_bytes, 133e9);
  EXPECT_LE(traffic->total.convolution_bytes, 92e9);
  EXPECT_LE(traffic->total.launches, 787);
}

TEST(Traffic, TheTotalIsTheSumOfLayersAndOfKernels) {
  const Model model = load_model(source_dir() / "configs/models/yolov4.yaml", 80);
  const auto traffic = count(model, options_of("h200"));
  if (!traffic) GTEST_SKIP() << "this build has no CUDA";
  for (const auto* rows : {&traffic->layers, &traffic->kernels}) {
    WorkTraffic sum;
    for (const LayerTraffic& row : *rows) {
      sum.own_bytes += row.work.own_bytes;
      sum.convolution_bytes += row.work.convolution_bytes;
      sum.flops += row.work.flops;
      sum.launches += row.work.launches;
      sum.ceiling_s += row.work.ceiling_s;
    }
    EXPECT_NEAR(sum.own_bytes, traffic->total.own_bytes, 1);
    EXPECT_NEAR(sum.convolution_bytes, traffic->total.convolution_bytes, 1);
    EXPECT_NEAR(sum.flops, traffic->total.flops, 1e3);
    EXPECT_EQ(sum.launches, traffic->total.launches);
    EXPECT_NEAR(sum.ceiling_s, traffic->total.ceiling_s, 1e-9);
  }
  EXPECT_GT(traffic->unfused_own_bytes, traffic->total.own_bytes);
  // A slower memory takes longer in proportion where memory is the ceiling.
  EXPECT_GT(count(model, options_of("0.4,780"))->total.ceiling_s, 5 * traffic->total.ceiling_s);
}

// docs/gpu.md: what cuDNN's fusions save is the difference of two of them.
TEST(Traffic, IsAnsweredWithTheSumsOfItsLayersAndWithWhatItWouldBeUnfused) {
  Json json;
  try {
    json = Json::parse(count_step({.model = (source_dir() / "configs/models/yolov4.yaml").string(),
                                   .precision = "fp16",
                                   .batch = 2,
                                   .height = 64,
                                   .width = 64,
                                   .card = "h200"})
                           .json);
  } catch (const DeviceError&) {
    GTEST_SKIP() << "this build has no CUDA";
  }
  const Json& total = json["total"];
  for (const char* key : {"own_bytes", "convolution_bytes", "flop", "launches"}) {
    double sum = 0;
    for (const Json& layer : json["layers"]) sum += layer[key].get<double>();
    EXPECT_NEAR(sum, total[key].get<double>(), 1e-9 * sum) << key;
  }
  EXPECT_GT(total["unfused_own_bytes"].get<double>(), total["own_bytes"].get<double>());
}

}  // namespace
}  // namespace brightnet
