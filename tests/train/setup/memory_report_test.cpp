// The answer of `brightnet memory`: what its parts make up.
#include "brightnet/memory.h"
#include "core/json.h"
#include "tests/logged.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

TEST(MemoryReport, HasPeaksThatItsPartsMakeUp) {
  const SmallRun run;
  const Json json =
      Json::parse(plan_memory({.run = {.config = (run.folder() / "model.yaml").string(), .precision = "bf16"},
                               .device = "cpu",
                               .batch = 2})
                      .json);
  const auto bytes = [](const Json& value) { return value.get<uint64_t>(); };
  const auto arena = [&](const Json& pass) {
    return bytes(pass["input"]) + bytes(pass["working_weights"]) + bytes(pass["step"]);
  };
  const Json &training = json["training"], &inference = json["inference"];
  EXPECT_GE(bytes(json["arena"]), arena(training));
  EXPECT_EQ(bytes(json["inference_peak_bytes"]), bytes(json["parameters"]) + arena(inference));
  EXPECT_GT(bytes(json["peak_bytes"]), bytes(json["inference_peak_bytes"]));
  for (const Json& pass : {training, inference})
    EXPECT_LE(bytes(pass["step"]), bytes(pass["step_without_sharing"]));
}

TEST(MemoryReport, OfAModelByItselfRefusesTheKeysOfARunByWhatTheyAre) {
  const SmallRun run;
  const auto refusal = [&](const std::string& setting) -> std::string {
    const std::string model = (run.folder() / "model.yaml").string();
    try {
      plan_memory({.run = {.config = model, .settings = {setting}}, .device = "cpu", .batch = 2});
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  for (const char* key : {"train.size", "data.classes", "optimizer.rate"}) {
    const std::string told = refusal(std::string(key) + "=64");
    EXPECT_EQ(told.find("--set: '" + std::string(key) + "' belongs to a run, and "), 0u) << told;
    EXPECT_NE(told.find("size, batch and precision have options of their own"), std::string::npos) << told;
  }
  EXPECT_EQ(refusal("input.channels=1"), "");
  EXPECT_NE(refusal("inptu.channels=1").find("Did you mean 'input'?"), std::string::npos);
}

std::string refusal_of(const MemoryOptions& options) {
  try {
    plan_memory(options);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(MemoryReport, AdvisesForABatchAnOptionThatItHas) {
  const Logged logged;
  plan_memory({.run = {.config = "demo"}, .device = "cpu", .device_memory = "8GiB"});
  EXPECT_NE(logged.text().find("a batch of 64 is assumed, as for a large data set; --batch N sets another."),
            std::string::npos)
      << logged.text();
  EXPECT_EQ(logged.text().find("--set"), std::string::npos) << "which it refuses for a model by itself";
}

TEST(MemoryReport, RefusesASizeByTheStrideWithAndWithoutABatch) {
  for (const int batch : {0, 4}) {
    const std::string said =
        refusal_of({.run = {.config = "demo"}, .device = "cpu", .batch = batch, .height = 100, .width = 100});
    EXPECT_NE(
        said.find("does not fit the model 'demo'. Its sides must be multiples of 16, such as 96 and 112."),
        std::string::npos)
        << said;
  }
}

TEST(MemoryReport, SaysOfTooLittleDeviceMemoryThatNoImageFits) {
  const MemoryOptions options{.run = {.config = "demo"}, .device = "cpu", .device_memory = "1MiB"};
  EXPECT_EQ(refusal_of(options), "");
  const Json json = Json::parse(plan_memory(options).json);
  EXPECT_EQ(json["largest_batch"], 0);
  EXPECT_EQ(json["batch"], 1) << "what is needed at least";
}

}  // namespace
}  // namespace brightnet::testing
