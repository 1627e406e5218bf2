#include "train/loop/memory.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "kernels/device/device.h"
#include "layers/model/reader.h"
#include "tests/paths.h"

namespace brightnet {
namespace {

// All that a run keeps on its device (parameters, gradients, optimizer, average, a step) against what
// detecting with the same batch keeps.
TEST(Memory, InferenceTakesAtMostAThirdOfTraining) {
  const auto backend = make_cpu_backend();
  for (const char* name : {"yolov4-tiny", "yolov4-tiny-3l", "yolov4"}) {
    const Model model =
        load_model(testing::source_dir() / "configs/models" / (std::string(name) + ".yaml"), 80);
    const ParameterLayout layout(model);
    const Parameters parameters{.layout = &layout};
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      RunConfig config;
      config.train.precision = precision;
      config.ema.decay = 0.9998f;
      config.train.size = model.size;
      for (const int batch : {1, 8}) {
        const Network infer({.model = &model,
                             .backend = backend.get(),
                             .parameters = &parameters,
                             .batch = batch,
                             .height = model.size.height,
                             .width = model.size.width,
                             .precision = config.train.precision,
                             .mode = Mode::infer});
        const size_t detecting = layout.floats() * sizeof(float) + infer.memory().arena();
        const size_t training = plan_run(config, model, *backend, batch).memory.peak();
        EXPECT_LE(detecting * 100, training * 35) << name << ' ' << enum_name(precision) << ' ' << batch;
      }
    }
  }
}

// Of yolov4 on a GPU, where only twins' gradients wait for their conversion.
TEST(Memory, RoundedGradientsWaitOnlyWhereSomethingIsAddedToThem) {
  constexpr int micro_batch = 8;
  std::unique_ptr<Backend> gpu;
  try {
    gpu = open_planner("cuda", Precision::fp16);
  } catch (const DeviceError& error) {
    GTEST_SKIP() << error.what();
  }
  const Model model = load_model(testing::source_dir() / "configs/models/yolov4.yaml", 80);
  RunConfig config;
  config.train.precision = Precision::fp16;
  config.train.size = 608;
  config.ema.decay = 0.0f;
  const auto plan = [&](int batch, bool sync_bn) {
    config.train.batch = batch;
    config.train.sync_bn = sync_bn;
    return plan_run(config, model, *gpu, micro_batch);
  };
  const auto waiting = [](const PlannedRun& of_run, const PlannedRun& least) {
    size_t bytes = 0;
    for (size_t i = 0; i < of_run.training.rows.size(); ++i)
      bytes += of_run.training.rows[i].saved - least.training.rows[i].saved;
    return bytes;
  };
  const PlannedRun whole = plan(micro_batch, false), part = plan(2 * micro_batch, false),
                   synchronized = plan(micro_batch, true), synchronized_part = plan(2 * micro_batch, true);
  const size_t weights = 2 * ParameterLayout(model).trainable_parameters();
  EXPECT_GT(waiting(part, whole), weights / 100 * 95);
  EXPECT_LT(waiting(part, whole), weights);
  EXPECT_LE(whole.training.step, part.training.step);
  EXPECT_EQ(waiting(synchronized, synchronized_part), 0u) << "several ranks exchange fp32";
  EXPECT_EQ(whole.memory.gradients, part.memory.gradients);
  EXPECT_EQ(whole.memory.optimizer, part.memory.optimizer);
}

TEST(ParseBytes, TakesTheUsualUnitsAndRefusesOtherWords) {
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("4096 B"), 4096u);
  EXPECT_EQ(parse_bytes("1.5GiB"), size_t{3} << 29);
  EXPECT_EQ(parse_bytes("2 gb"), 2'000'000'000u);
  EXPECT_EQ(parse_bytes("512m"), size_t{512} << 20);
  EXPECT_EQ(parse_bytes("512MB"), 512'000'000u);
  EXPECT_EQ(parse_bytes("3K"), 3072u);
  EXPECT_EQ(parse_bytes("3kb"), 3000u);
  EXPECT_EQ(parse_bytes("1TiB"), size_t{1} << 40);
  EXPECT_EQ(parse_bytes("1T"), size_t{1} << 40);
  for (const std::string text : {"", "GiB", "8 gigs", "-1GiB", "0", "nan", "1e30", "8GiB8"}) {
    try {
      parse_bytes(text);
      ADD_FAILURE() << text << " was accepted";
    } catch (const InputError& e) {
      EXPECT_EQ(e.what(),
                "'" + text + "' is no amount of memory. Write it as 8GiB, 512MB or a number of bytes.");
    }
  }
}

}  // namespace
}  // namespace brightnet
