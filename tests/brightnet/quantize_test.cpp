// What quantize() reports where AP is measured.
#include "brightnet/quantize.h"

#include <cmath>

#include <gtest/gtest.h>

#include "brightnet/detect.h"
#include "brightnet/evaluate.h"
#include "core/json.h"
#include "kernels/cpu/quantized_convolution.h"
#include "tests/logged.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// Weights whose layer `fine` rounds to nothing: of each of its filters all but the weights for a channel that is always 0
/// are too small for the filter's scale. Its biases are corrected for that, which would be wrong where it is computed in fp32.
fs::path write_weights_that_round_badly(const SmallRun& run) {
  const fs::path file = write_small_weights(run);
  TrainedModel trained = load_trained_model(file);
  const auto weights = [&](const char* name) { return *trained.layout.find(std::string(name) + ".weight"); };
  const std::string before = trained.model.layers[1].name;
  const ParameterEntry dead = weights(before.c_str()), fine = weights("fine");
  const auto channels = static_cast<size_t>(dead.shape[0]);
  std::fill_n(trained.values.begin() + static_cast<long>(dead.offset), dead.count / channels, 0.0f);
  for (size_t i = 0; i < fine.count; i += channels) trained.values[fine.offset + i] *= 3000;
  // Heads that tell one place from another.
  for (size_t i = 0; i < trained.model.layers.size(); ++i) {
    if (!is_head(trained.model.layers[i])) continue;
    const ParameterEntry head = weights(trained.model.layers[i - 1].name.c_str());
    for (size_t k = 0; k < head.count; ++k) trained.values[head.offset + k] *= 8;
  }
  save_weights(file, trained);
  return file;
}

/// Makes the objects that the weights detect the truth of the run's validation images.
void make_truth_of(const fs::path& weights, const SmallRun& run) {
  const fs::path labels = run.folder() / "data/labels/val";
  detect_files({.weights = {.weights = weights},
                .source = (run.folder() / "data/images/val").string(),
                .device = "cpu",
                .confidence = 0.1f,
                .no_save = true,
                .txt = run.folder() / "found"});
  fs::remove_all(labels);
  fs::copy(run.folder() / "found", labels);
}

TEST(Quantize, CalibratesAndMeasuresAtTheSizeThatIsAskedFor) {
  if (!cpu::has_int8_products()) GTEST_SKIP() << "this CPU does not sum 8-bit products exactly";
  const SmallRun run(6, 4);
  const fs::path file = write_small_weights(run);
  make_truth_of(file, run);  // at 64 x 64
  const Weights weights = Weights::open(file);
  const std::string data = run.config().string();
  const QuantizationOptions options{.data = data, .images = 3, .max_loss = 100};
  const auto ap = [&](const Weights& of, const char* precision, int height, int width) {
    const DeviceOptions device{.device = "cpu", .precision = precision};
    return evaluate(of, data, {.device = device, .height = height, .width = width}).AP;
  };
  ASSERT_GT(std::abs(ap(weights, "fp32", 32, 96) - ap(weights, "fp32", 0, 0)), 0.01) << "sizes that differ";
  const Json recorded = Json::parse(quantize(weights, options).report.json);
  const Logged logged;
  const QuantizedWeights quantized = quantize(weights, options, 32, 96);
  EXPECT_NE(logged.text().find("3 of 6 training images at 32x96"), std::string::npos) << logged.text();
  EXPECT_EQ(quantized.weights.input_height(), 32);
  EXPECT_EQ(quantized.weights.input_width(), 96);
  const Json report = Json::parse(quantized.report.json);
  EXPECT_EQ(recorded["size"], 64);
  EXPECT_EQ(report["size"], Json::array({32, 96}));
  EXPECT_NE(report["ranges"], recorded["ranges"]);
  EXPECT_NEAR(report["AP_fp32"].get<double>(), ap(weights, "fp32", 32, 96), 1e-6);
  EXPECT_NEAR(report["AP_int8"].get<double>(), ap(quantized.weights, "int8", 32, 96), 1e-6);
}

TEST(Quantize, RefusesDataOfOtherClassesBeforeItCalibrates) {
  if (!cpu::has_int8_products()) GTEST_SKIP() << "this CPU does not sum 8-bit products exactly";
  const SmallRun run(2, 1);
  const Weights weights = Weights::open(write_small_weights(run, {"triangle", "star"}));
  const Logged logged;
  EXPECT_THROW(quantize(weights, {.data = run.config().string(), .max_loss = 1}), InputError);
  EXPECT_EQ(logged.text().find("Calibrating"), std::string::npos) << logged.text();
}

TEST(Quantize, RefusesHalfASizeAndOneThatDoesNotFit) {
  const SmallRun run(2, 1);
  const Weights weights = Weights::open(write_small_weights(run));
  const QuantizationOptions options{.data = run.config().string()};
  EXPECT_THROW(quantize(weights, options, 64, 0), InputError);
  EXPECT_THROW(quantize(weights, options, -64, -64), InputError);
  EXPECT_THROW(quantize(weights, options, 64, 65), InputError);
}

TEST(Quantize, LosesNoMoreThanIsAllowedWhereNoLayerAloneIsToBlame) {
  if (!cpu::has_int8_products()) GTEST_SKIP() << "this CPU does not sum 8-bit products exactly";
  const SmallRun run(6, 4);
  const fs::path file = write_weights_that_round_badly(run);
  make_truth_of(file, run);  // in fp32
  const Weights weights = Weights::open(file);
  const std::string data = run.config().string();
  const auto ap = [&](const Weights& of, const char* precision) {
    return evaluate(of, data, {.device = {.device = "cpu", .precision = precision}}).AP;
  };
  QuantizationOptions options{.data = data, .images = 3, .max_loss = 100, .equalize = false};
  const double whole = ap(quantize(weights, options).weights, "int8");
  options.max_loss = 0.5;
  const QuantizedWeights quantized = quantize(weights, options);
  const Json report = Json::parse(quantized.report.json);
  const double fp32 = report["AP_fp32"].get<double>(), int8 = report["AP_int8"].get<double>();
  EXPECT_NEAR(fp32, ap(weights, "fp32"), 1e-6);
  EXPECT_NEAR(int8, ap(quantized.weights, "int8"), 1e-6);
  EXPECT_GT(100 * (fp32 - whole), 0.5) << report;
  EXPECT_LE(100 * (fp32 - int8), 0.5) << report;
}

}  // namespace
}  // namespace brightnet::testing
