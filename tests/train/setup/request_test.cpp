#include "train/setup/request.h"

#include "core/files.h"
#include "tests/logged.h"
#include "tests/train/small_run.h"
#include "train/setup/model.h"
#include "train/setup/teacher.h"

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

TEST(Request, WhatSaysHowATeacherTeachesNeedsATeacher) {
  SmallRun run;
  const auto logged_of = [&] {
    const Logged logged;
    RunConfig config = run.load();
    check_config(config);
    open_teacher(config, load_model(config, 2), {});
    return logged.text();
  };
  for (const char* key : {"train.teacher_cfg", "train.distill", "train.distill_features"}) {
    RunRequest request;
    request.config = run.config();
    const std::string value = key == std::string("train.teacher_cfg") ? "their.cfg" : "3";
    request.overrides = {key + ("=" + value)};
    const std::string refusal = refusal_of_request(request);
    EXPECT_EQ(refusal.find("--set: '" + std::string(key) + "' is of runs with a teacher"), 0u) << refusal;
    run.write_config("train: {precision: fp32, " + std::string(key).substr(6) + ": " + value + "}\n");
    const std::string warning = logged_of();
    EXPECT_NE(warning.find("run.yaml:3: " + std::string(key) + " has no effect"), std::string::npos)
        << warning;
    run.write_config("");
  }
  RunRequest none;
  none.config = run.config();
  none.overrides = {"train.teacher=\"\"", "train.teacher_cfg=\"\"", "train.distill=0",
                    "train.distill_features=0"};
  EXPECT_EQ(refusal_of_request(none), "");
}

// As the one in a run's folder, which has every key.
TEST(Request, AConfigurationWithEveryKeyAtItsDefaultNamesNoTeacher) {
  const SmallRun run;
  const std::filesystem::path all = run.folder() / "all.yaml";
  const std::string text = print_config(run.load());
  ASSERT_NE(text.find("distill: 1"), std::string::npos) << text;
  write_atomically(all, text);
  const Logged logged;
  RunConfig config = load_run_config(all);
  check_config(config);
  open_teacher(config, load_model(config, 2), {});
  EXPECT_EQ(logged.text().find("teacher"), std::string::npos) << logged.text();
}

}  // namespace
}  // namespace brightnet::testing
