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

}  // namespace
}  // namespace brightnet::testing
