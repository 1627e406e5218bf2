#include "bench/benchmark.h"

#include <fmt/format.h>

#include "brightnet/benchmark.h"
#include "core/json.h"
#include "kernels/cpu/cpu_backend.h"
#include "layers/model/reader.h"
#include "tests/kernels/wrapped_convolution.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

TEST(Median, IsTheMiddleOneWhateverTheOrder) {
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({1, 100, 2, 3, 50}), 3);
  EXPECT_EQ(median({4, 3, 2, 1}), 3) << "of an even number the larger one of both";
}

TEST(StepBenchmark, CountsTheConvolutionsAndTimesEveryLayer) {
  const SmallRun run;
  const Model model = load_model(run.folder() / "model.yaml", 2);
  const auto backend = make_cpu_backend();
  const StepBenchmark step =
      measure_step(run.load(), model, *backend, {.batch = 2, .size = 64, .seconds = 0, .min_rounds = 3});
  EXPECT_EQ(step.rounds, 3);
  EXPECT_EQ(step.batch, 2);
  EXPECT_EQ(step.device, backend->name());
  // Pixels · filters · channels · side² of the kernel; twice, for a product and a sum; of two images.
  const double first = 4.0 * 32 * 32 * 8 * 3 * 9;
  const double others = 4.0 * (16 * 16 * 16 * 8 * 9 + 8 * 8 * 32 * 16 * 9 + 8 * 8 * 14 * 32 +
                               4 * 4 * 32 * 32 * 9 + 4 * 4 * 14 * 32);
  EXPECT_EQ(step.flops, 2 * first + 3 * others) << "the image has no gradient";
  EXPECT_DOUBLE_EQ(step.images_per_second(), 2 / step.step);
  EXPECT_DOUBLE_EQ(step.floor_ratio(), step.floor / step.step);
  EXPECT_GT(step.floor, 0);
  EXPECT_GT(step.peak_bytes, 0u);
  ASSERT_EQ(step.layers.size(), model.layers.size());
  double forward = 0, floor = 0;
  size_t gradients = 0;
  for (size_t i = 0; i < step.layers.size(); ++i) {
    const LayerBenchmark& layer = step.layers[i];
    EXPECT_EQ(layer.name, model.layers[i].name);
    EXPECT_GT(layer.forward, 0) << layer.name;
    EXPECT_GT(layer.backward + layer.forward, layer.forward) << layer.name;
    EXPECT_EQ(layer.floor > 0, layer.kind == "conv") << layer.name;
    forward += layer.flops;
    floor += layer.floor;
    gradients += layer.gradient_bytes;
  }
  EXPECT_EQ(forward, first + others);
  EXPECT_EQ(gradients, sizeof(float) * static_cast<size_t>(ParameterLayout(model).trainable_parameters()));
  const StepBenchmark steps =
      measure_step(run.load(), model, *backend,
                   {.batch = 2, .size = 64, .seconds = 0, .min_rounds = 1, .steps_only = true});
  EXPECT_EQ(steps.floor, 0);
  EXPECT_TRUE(steps.layers.empty());
}

TEST(StepBenchmark, IsAnsweredWithEveryNumberUnderItsName) {
  const SmallRun run;
  const Answer answer = benchmark_step({.model = (run.folder() / "model.yaml").string(),
                                        .device = "cpu",
                                        .precision = "fp32",
                                        .batch = 2,
                                        .height = 64,
                                        .width = 96,
                                        .classes = 2,
                                        .seconds = 0.001});
  const Json step = Json::parse(answer.json)["results"][0];
  const auto number = [&](const char* key) { return step.at(key).get<double>(); };
  EXPECT_EQ(step["batch"], 2);
  EXPECT_EQ(step["size"], (std::vector<int>{64, 96}));
  EXPECT_EQ(step["precision"], "fp32");
  EXPECT_NEAR(number("images_per_s") * number("step_ms") / 1e3, 2, 1e-6);
  EXPECT_NEAR(number("floor_ratio") * number("step_ms"), number("floor_ms"), 1e-6 * number("floor_ms"));
  EXPECT_NEAR(number("gflops") * number("step_ms") / 1e3, number("gflop_per_step"),
              1e-6 * number("gflop_per_step"));
  EXPECT_EQ(step["layers"][0]["output"], (std::vector<int>{2, 32, 48, 8}));
  double forward = 0;
  for (const auto& layer : step["layers"]) forward += layer["forward_gflop"].get<double>();
  const double first = step["layers"][0]["forward_gflop"];
  EXPECT_NEAR(number("gflop_per_step"), 3 * forward - first, 1e-6) << "the image has no gradient";
  EXPECT_NE(answer.text.find("training step, fp32 on"), std::string::npos) << answer.text;
}

// Of the same measurement: "step 3.1 ms = forward 1.0 + backward 1.9 + update 0.2".
TEST(StepBenchmark, SaysTheSameTimesToPeopleAndPrograms) {
  const SmallRun run;
  const Answer answer = benchmark_step({.model = (run.folder() / "model.yaml").string(),
                                        .device = "cpu",
                                        .precision = "fp32",
                                        .batch = 16,
                                        .height = 128,
                                        .width = 128,
                                        .classes = 2,
                                        .seconds = 0.001,
                                        .steps_only = true});
  const Json step = Json::parse(answer.json)["results"][0];
  const auto ms = [&](const char* key) { return step.at(key).get<double>(); };
  EXPECT_NE(
      answer.text.find(fmt::format("step {:.1f} ms = forward {:.1f} + backward {:.1f} + update {:.1f}",
                                   ms("step_ms"), ms("forward_ms"), ms("backward_ms"), ms("update_ms"))),
      std::string::npos)
      << answer.text << step;
}

TEST(LoadersBenchmark, IsOfTheSizeThatIsGiven) {
  const SmallRun run;
  const auto size = [&](int height, int width) {
    std::vector<std::string> settings;
    if (height == 0) settings = {"train.size=64"};
    const Answer answer = benchmark_loader({.data = run.config().string(),
                                            .settings = settings,
                                            .device = "cpu",
                                            .batch = 2,
                                            .height = height,
                                            .width = width,
                                            .seconds = 0.001});
    const Json loader = Json::parse(answer.json)["loader"];
    EXPECT_EQ(loader["images"], 12);
    EXPECT_EQ(loader["workers"], 1);
    return loader["size"];
  };
  EXPECT_EQ(size(32, 96), (std::vector<int>{32, 96}));
  EXPECT_EQ(size(0, 0), 64) << "the configuration's";
  EXPECT_THROW(benchmark_loader({.data = run.config().string(),
                                 .settings = {"train.size=64"},
                                 .device = "cpu",
                                 .batch = 2,
                                 .height = 32,
                                 .width = 96,
                                 .seconds = 0.001}),
               InputError)
      << "two sizes";
}

/// The words of the error; empty: there was none.
std::string refusal_of_measuring(Answer (*measure)(const BenchmarkOptions&),
                                 const BenchmarkOptions& options) {
  try {
    measure(options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(LoadersBenchmark, RefusesWhatItDoesNotHeed) {
  const SmallRun run;
  const auto refusal = [&](const std::vector<std::string>& settings, int classes = 0) {
    return refusal_of_measuring(benchmark_loader, {.data = run.config().string(),
                                                   .settings = settings,
                                                   .device = "cpu",
                                                   .batch = 2,
                                                   .height = 32,
                                                   .width = 32,
                                                   .classes = classes,
                                                   .seconds = 0.001});
  };
  for (const auto& [setting, words] :
       {std::pair("loader.workers=2",
                  "--set: 'loader.workers' has no effect on the measurement of the loader"),
        {"loader={decode: cpu, workers: 2}", "Give the number of workers with --workers."},
        {"loader.cache_mb=0", "Both are measured"},
        {"train.batch=3", "--batch"},
        {"optimizer.rate=1", "These have one: data., augment."},
        {"nonsense.key=1", "nonsense"}}) {
    const std::string refused = refusal({setting});
    EXPECT_NE(refused.find(words), std::string::npos) << words << " is not in: " << refused;
  }
  EXPECT_TRUE(refusal({}, 2).starts_with("--classes: "));
  EXPECT_EQ(refusal({"augment.mosaic=0", "loader.decode=cpu", "data.fraction=0.5"}), "");
}

TEST(KernelsBenchmark, RefusesWhatBelongsToAModel) {
  const auto refused = [](BenchmarkOptions options, const std::string& option) {
    options.device = "cpu";
    options.batch = 1;
    options.seconds = 0.001;
    const std::string words = refusal_of_measuring(benchmark_kernels, options);
    EXPECT_TRUE(words.starts_with(option + ": the kernels are measured in fixed shapes")) << words;
  };
  refused({.settings = {"train.size=64"}}, "--set");
  refused({.classes = 3}, "--classes");
  refused({.height = 64, .width = 64}, "--size");
}

TEST(LoadersBenchmark, SaysTheSameRatesToPeopleAndPrograms) {
  const SmallRun run;
  const Answer answer = benchmark_loader({.data = run.config().string(),
                                          .settings = {"train.size=64"},
                                          .device = "cpu",
                                          .batch = 2,
                                          .seconds = 0.001});
  const Json loader = Json::parse(answer.json)["loader"];
  for (const auto& [key, words] : {std::pair("cached", "samples, decoded images cached"),
                                   {"uncached", "samples, nothing cached"},
                                   {"decode", "images decoded by OpenCV, one thread"}}) {
    const std::string line = fmt::format("  {:<40} {:>9.0f} /s", words, loader[key]["per_s"].get<double>());
    EXPECT_NE(answer.text.find(line), std::string::npos) << line << " is not in: " << answer.text;
  }
}

/// Computes as another, and could use more workspace.
class GreedyConvolution : public WrappedConvolution {
 public:
  GreedyConvolution(std::unique_ptr<Convolution> inner, std::vector<size_t>& extensions)
      : WrappedConvolution(std::move(inner)), extensions_(extensions) {}
  size_t most_workspace_bytes() const override { return workspace_bytes() + (size_t{1} << 20); }
  void extend_workspace(size_t bytes) override {
    extensions_.push_back(std::min(bytes, most_workspace_bytes()));
  }

 private:
  std::vector<size_t>& extensions_;
};

struct GreedyBackend : cpu::CpuBackend {
  std::unique_ptr<Convolution> plan_convolution(const ConvolutionSpec& spec) override {
    return std::make_unique<GreedyConvolution>(cpu::CpuBackend::plan_convolution(spec), extensions);
  }
  std::vector<size_t> extensions;  ///< the workspace that each convolution was given, in their order
};

// On a GPU the choice of cuDNN's engines depends on it: the floor would be that of other convolutions.
TEST(StepBenchmark, TheFloorsConvolutionsHaveTheWorkspaceOfTheNetworks) {
  const SmallRun run;
  const Model model = load_model(run.folder() / "model.yaml", 2);
  GreedyBackend backend;
  measure_step(run.load(), model, backend, {.batch = 2, .size = 64, .seconds = 0, .min_rounds = 1});
  const auto middle = backend.extensions.begin() + static_cast<long>(backend.extensions.size() / 2);
  const std::vector<size_t> network(backend.extensions.begin(), middle),
      floor(middle, backend.extensions.end());
  EXPECT_FALSE(network.empty());
  EXPECT_EQ(network, floor);
}

}  // namespace
}  // namespace brightnet::testing
