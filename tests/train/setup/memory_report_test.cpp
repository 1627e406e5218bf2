// The answer of `brightnet memory`: what its parts make up.
#include "brightnet/memory.h"
#include "core/json.h"
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

}  // namespace
}  // namespace brightnet::testing
