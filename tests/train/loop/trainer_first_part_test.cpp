// What is otherwise in the first part of a run: the assignment of predictions, and the rate of pretrained layers.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/cpu/cpu_backend.h"
#include "tests/train/small_run.h"
#include "tests/train/small_training.h"
#include "train/loop/trainer.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// Notes which assignment the losses of training have, and those of validation.
class AssignmentsOf : public cpu::CpuBackend {
 public:
  void yolo_loss(const YoloHead& head, const YoloLossPass& pass) override {
    (pass.totals ? of_training : of_validation).push_back(head.assignment);
    cpu::CpuBackend::yolo_loss(head, pass);
  }
  std::vector<AssignmentKind> of_training, of_validation;
};

TEST(Trainer, LetsSimotaTakeAllCandidatesInTheFirstPartOfTheRun) {
  SmallRun run;
  const auto config = [&](const char* assignment, const char* part) {
    return run.load({fmt::format("head.assignment={}", assignment), "head.scale_xy=2", "train.epochs=3",
                     fmt::format("train.static_assignment={}", part)});
  };
  const auto weights = [&](const char* assignment, const char* part) {
    SmallTraining training(config(assignment, part), run.folder() / "runs" / assignment / part);
    EXPECT_EQ(training.make().run(), TrainingEnd::finished);
    return tensors_of(training.folder.last());
  };
  EXPECT_EQ(weights("simota", "1"), weights("neighbours", "0"));
  EXPECT_NE(weights("simota", "0"), weights("neighbours", "0"));
  EXPECT_EQ(weights("best_anchor", "1"), weights("best_anchor", "0")) << "it is simota's";

  // 9 steps of two micro-batches and two heads. Interrupted in each step, also in the first after the change.
  std::vector<AssignmentKind> seen, validated;
  const fs::path parts = run.folder() / "parts";
  for (TrainingEnd end = TrainingEnd::interrupted; end == TrainingEnd::interrupted;) {
    const bool old = !seen.empty();
    auto device = std::make_unique<AssignmentsOf>();
    const AssignmentsOf& assignments = *device;
    SmallTraining training(config("simota", "0.5"), parts, old, std::move(device));
    Trainer trainer = training.make();
    if (old) trainer.resume();
    std::stop_source stop;
    // A signal that is there from the beginning lets one step be made, but no evaluation: none after the last step of
    // an epoch.
    if (trainer.progress().step < 3) stop.request_stop();
    end = trainer.run(stop.get_token());
    seen.insert(seen.end(), assignments.of_training.begin(), assignments.of_training.end());
    validated.insert(validated.end(), assignments.of_validation.begin(), assignments.of_validation.end());
  }
  ASSERT_EQ(seen.size(), 36u);
  for (size_t i = 0; i < seen.size(); ++i)
    EXPECT_EQ(seen[i], i < 20 ? AssignmentKind::neighbours : AssignmentKind::simota) << "call " << i;
  // By the assignment of the step before: of four images in two heads after the first epoch, and from the second on.
  ASSERT_GT(validated.size(), 16u);
  for (size_t i = 0; i < validated.size(); ++i)
    EXPECT_EQ(validated[i], i < 8 ? AssignmentKind::neighbours : AssignmentKind::simota) << "image " << i / 2;
  EXPECT_EQ(tensors_of(parts / "weights/last.safetensors"), weights("simota", "0.5"));
}

/// Notes the rates of each step.
class RatesOf : public cpu::CpuBackend {
 public:
  void optimizer_step(const OptimizerRule& rule, const OptimizerArrays& arrays,
                      std::span<const ParameterRange> of, const StepState* state) override {
    shares.push_back(state->pretrained_share);
    // conv3 and conv5 are new: two ranges each, weights and biases.
    pretrained = std::count_if(of.begin(), of.end(), [](const auto& range) { return range.pretrained; });
    fresh = static_cast<int64_t>(of.size()) - pretrained;
    cpu::CpuBackend::optimizer_step(rule, arrays, of, state);
  }
  std::vector<float> shares;
  int64_t pretrained = 0, fresh = 0;
};

TEST(Trainer, LetsPretrainedLayersComeToTheirRateInTheFirstPartOfTheRun) {
  const SmallRun run;
  const auto shares = [&](const char* part) {
    auto device = std::make_unique<RatesOf>();
    const RatesOf& rates = *device;
    SmallTraining training(run.load({"train.epochs=3", "train.fresh=[conv3, conv5]",
                                     fmt::format("train.pretrained_warmup={}", part)}),
                           run.folder() / "runs" / part, false, std::move(device));
    EXPECT_EQ(training.make().run(), TrainingEnd::finished);
    EXPECT_EQ(rates.fresh, 4);
    EXPECT_GT(rates.pretrained, 0);
    return rates.shares;
  };
  EXPECT_EQ(shares("0.5"), (std::vector<float>{0.2f, 0.4f, 0.6f, 0.8f, 1, 1, 1, 1, 1}));
  EXPECT_EQ(shares("0"), std::vector<float>(9, 1.0f));
}

}  // namespace
}  // namespace brightnet::testing
