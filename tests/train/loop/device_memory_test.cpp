#include "train/loop/device_memory.h"

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
      // What a CPU without instructions for it takes besides, to compute in fp32, is oneDNN's.
      if (precision == Precision::bf16 && fast_precision("cpu").precision != precision) continue;
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
