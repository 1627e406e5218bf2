#include "bench/inference_benchmark.h"

#include "brightnet/benchmark.h"
#include "core/json.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

TEST(InferenceBenchmark, TimesTheNetworkAndEveryLayer) {
  const SmallRun run;
  const TrainedModel trained = load_trained_model(write_small_weights(run));
  const auto backend = make_cpu_backend();
  InferenceNetwork network(trained, *backend, {.batch = 2, .size = 64});
  const InferenceBenchmark measured = measure_inference(network, 0, 4);
  EXPECT_EQ(measured.rounds, 4);
  EXPECT_EQ(measured.batch, 2);
  EXPECT_EQ(measured.size, InputSize(64));
  EXPECT_GT(measured.least, 0);
  EXPECT_GE(measured.seconds, measured.least);
  EXPECT_DOUBLE_EQ(measured.images_per_second(), 2 / measured.seconds);
  EXPECT_GT(measured.peak_bytes, 0u);
  ASSERT_EQ(measured.layers.size(), trained.model.layers.size());
  double flops = 0;
  for (size_t i = 0; i < measured.layers.size(); ++i) {
    const LayerBenchmark& layer = measured.layers[i];
    EXPECT_EQ(layer.name, trained.model.layers[i].name);
    EXPECT_GE(layer.forward, 0) << layer.name;
    EXPECT_EQ(layer.flops > 0, layer.kind == "conv") << layer.name;
    flops += layer.flops;
  }
  EXPECT_EQ(measured.flops, flops);
}

// Weights keep their own size and classes; a model is measured with its first values. The speed of training is another.
TEST(InferenceBenchmark, MeasuresWeightsAndModels) {
  const SmallRun run;
  const std::string weights = write_small_weights(run).string();
  const auto result = [&](BenchmarkOptions options) {
    options.seconds = 0.001;
    options.device = "cpu";
    const Answer answer = benchmark_inference(options);
    EXPECT_NE(answer.text.find("inference, fp32"), std::string::npos) << answer.text;
    return Json::parse(answer.json)["results"][0];
  };
  const Json of_weights = result({.model = weights, .precision = "fp32"});
  EXPECT_EQ(of_weights["size"], 64);
  EXPECT_EQ(of_weights["batch"], 1);
  EXPECT_GT(of_weights["ms"].get<double>(), 0);
  EXPECT_EQ(of_weights["layers"].size(), load_trained_model(weights).model.layers.size());
  const Json of_model = result({.model = (run.folder() / "model.yaml").string(),
                                .precision = "fp32",
                                .batch = 2,
                                .height = 64,
                                .width = 96,
                                .classes = 2});
  EXPECT_EQ(of_model["batch"], 2);
  EXPECT_EQ(of_model["layers"][0]["output"], (std::vector<int>{2, 32, 48, 8}));
  const double seconds = of_model["ms"].get<double>() / 1e3;
  EXPECT_NEAR(of_model["images_per_s"].get<double>() * seconds, 2, 1e-9);
  EXPECT_LE(of_model["least_ms"], of_model["ms"]);
  double gflop = 0;
  for (const auto& layer : of_model["layers"]) gflop += layer["gflop"].get<double>();
  EXPECT_NEAR(of_model["gflops"].get<double>() * seconds, gflop, 1e-6 * gflop);
  EXPECT_THROW(benchmark_step({.model = (run.folder() / "model.yaml").string(), .precision = "int8"}),
               InputError);
}

TEST(InferenceBenchmark, OfWeightsRefusesSettingsAndClasses) {
  const SmallRun run;
  const auto refused = [&](BenchmarkOptions options, const std::string& option) {
    options.model = write_small_weights(run).string();
    options.device = "cpu";
    options.seconds = 0.001;
    try {
      benchmark_inference(options);
      ADD_FAILURE() << option << " had no effect";
    } catch (const InputError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(option + ": weights have a model and classes"))
          << error.what();
    }
  };
  refused({.settings = {"train.size=320"}}, "--set");
  refused({.classes = 77}, "--classes");
}

TEST(InferenceBenchmark, APrecisionThatCannotBeIsRefusedBeforeOthersAreMeasured) {
  const SmallRun run;
  int measured = 0;
  BenchmarkOptions options{.model = write_small_weights(run).string(), .device = "cpu", .seconds = 0.001};
  options.measured = [&](const std::string&) { ++measured; };
  options.precision = "fp32,int8";
  EXPECT_ANY_THROW(benchmark_inference(options)) << "not quantised";
  options.precision = "fp32,fp16";
  EXPECT_ANY_THROW(benchmark_inference(options));
  EXPECT_ANY_THROW(benchmark_kernels(options));
  options.model = (run.folder() / "model.yaml").string();
  options.height = options.width = 64;
  options.classes = 2;
  EXPECT_ANY_THROW(benchmark_step(options));
  EXPECT_EQ(measured, 0);
}

}  // namespace
}  // namespace brightnet::testing
