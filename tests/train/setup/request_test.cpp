#include "train/setup/request.h"

#include "core/files.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

std::string refusal_of_request(const RunRequest& request) {
  try {
    requested_config(request);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(Request, WhatSaysHowWeightsAreReadNeedsWeights) {
  const SmallRun run;
  const std::string cfg = run.folder() / "theirs.cfg";
  write_atomically(cfg, std::string("[net]\n"));
  RunRequest with_cfg, partial, set;
  with_cfg.config = partial.config = set.config = run.config();
  with_cfg.weights_cfg = cfg;
  partial.weights_partial = true;
  set.overrides = {"train.weights_partial=true"};
  const std::string remedy = "Name them, --weights FILE";
  for (const auto& [request, option] :
       {std::pair(with_cfg, "--weights-cfg: "), {partial, "--weights-partial: "}, {set, "--set: "}}) {
    const std::string refusal = refusal_of_request(request);
    EXPECT_EQ(refusal.find(option), 0u) << refusal;
    EXPECT_NE(refusal.find(remedy), std::string::npos) << refusal;
    RunRequest complete = request;
    complete.weights = run.folder() / "their.weights";
    write_atomically(complete.weights, std::string("read later"));
    EXPECT_EQ(refusal_of_request(complete), "");
  }
  EXPECT_THROW(check_config(run.load({"train.weights_partial=true"})), InputError);
}

TEST(Request, AConfigurationMaySayHowWeightsAreReadThatAreNamedAtTimes) {
  SmallRun run;
  write_atomically(run.folder() / "theirs.cfg", std::string("[net]\n"));
  run.write_config("train: {precision: fp32, weights_cfg: theirs.cfg, weights_partial: true}\n");
  RunRequest request;
  request.config = run.config();
  EXPECT_EQ(refusal_of_request(request), "");
}

}  // namespace
}  // namespace brightnet::testing
