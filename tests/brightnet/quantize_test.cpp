// What quantize() reports where AP is measured.
#include "brightnet/quantize.h"

#include <gtest/gtest.h>

#include "brightnet/detect.h"
#include "brightnet/evaluate.h"
#include "core/json.h"
#include "core/text.h"
#include "kernels/cpu/quantized_convolution.h"
#include "tests/logged.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// Weights whose layer `fine` rounds to nothing: of each of its filters all but the weights for a channel that is always 0
/// are too small for the filter's scale. Its biases are corrected for that, which is wrong once it is computed in fp32.
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

TEST(Quantize, SaysWhatIsLostWhereNoLayerAloneIsToBlame) {
  if (!cpu::has_int8_products()) GTEST_SKIP() << "this CPU does not sum 8-bit products exactly";
  const SmallRun run(6, 4);
  const fs::path file = write_weights_that_round_badly(run), labels = run.folder() / "data/labels/val";
  // The truth is what the network finds in fp32.
  detect_files({.weights = {.weights = file},
                .source = (run.folder() / "data/images/val").string(),
                .device = "cpu",
                .confidence = 0.1f,
                .no_save = true,
                .txt = run.folder() / "found"});
  fs::remove_all(labels);
  fs::copy(run.folder() / "found", labels);
  const Weights weights = Weights::open(file);
  const std::string data = run.config().string();
  const Logged logged;
  const QuantizedWeights quantized =
      quantize(weights, {.data = data, .images = 3, .max_loss = 0.5, .equalize = false});
  const std::string said = logged.text();
  const auto ap = [&](const Weights& of, const char* precision) {
    return evaluate(of, data, {.device = {.device = "cpu", .precision = precision}}).AP;
  };
  const Json report = Json::parse(quantized.report.json);
  EXPECT_NEAR(report["AP_fp32"].get<double>(), ap(weights, "fp32"), 1e-6);
  EXPECT_NEAR(report["AP_int8"].get<double>(), ap(quantized.weights, "int8"), 1e-6);
  const double lost = 100 * (report["AP_fp32"].get<double>() - report["AP_int8"].get<double>());
  ASSERT_GT(lost, 1) << report;
  const std::string words = " AP points are lost, more than --max-loss 0.5";
  const size_t end = said.find(words);
  ASSERT_NE(end, std::string::npos) << lost << ": " << said;
  const size_t begin = said.rfind('\n', end) + 1;  // 0 in the first line
  EXPECT_NEAR(parse_number(said.substr(begin, end - begin)).value_or(0), lost, 0.006) << said;
}

}  // namespace
}  // namespace brightnet::testing
