#include "train/report/progress_text.h"

#include <cmath>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

RunProgress in_the_middle() {
  RunProgress run;
  run.epoch = 12;
  run.epochs = 300;
  run.step = 120;
  run.steps_per_epoch = 250;
  run.sums = {.images = 640, .seconds = 8, .waited = 2};
  run.losses.box = 640;
  run.losses.objectness = 1280;
  run.losses.images = 320;
  run.losses.assigned = 640;
  run.seconds_left = 3723;
  run.rate = 0.0013f;
  return run;
}

TEST(ProgressText, HasWhatIsWantedMostInEightyColumns) {
  RunProgress run = in_the_middle();
  run.scores = {.epoch = 11, .AP50 = 0.5124, .AP = 0.3, .loss = 4};
  const std::string shown = progress_text(run).substr(0, 79);
  for (const char* part :
       {"epoch 12/300 120/250", "loss 3.000", "ETA 1:02:03", "AP50 0.512 AP 0.300 (epoch 11)"}) {
    EXPECT_NE(shown.find(part), std::string::npos) << part << " in: " << shown;
  }
  EXPECT_EQ(shown.find("val loss"), std::string::npos) << "that was epochs ago: " << shown;
  EXPECT_NE(progress_text(run).find("lr 0.0013  80.0 images/s  data-wait 25 %"), std::string::npos);
  EXPECT_NE(progress_text(run).find("box 1.000 obj 2.000 cls 0.000"), std::string::npos);
  run.scores->epoch = 2.4;
  EXPECT_NE(progress_text(run).find("AP 0.300 (epoch 2.40)"), std::string::npos) << progress_text(run);
}

TEST(ProgressText, HasTheValidationLossBesideTheTrainingLossOfTheSameEpoch) {
  RunProgress run = in_the_middle();
  run.step = 0;
  run.scores = {.epoch = 12, .AP50 = 0.5, .AP = 0.25, .loss = 3.5};
  run.just_evaluated = true;
  EXPECT_EQ(progress_text(run).find(
                "epoch 12/300  loss 3.000  val loss 3.500  ETA 1:02:03  AP50 0.500 AP 0.250  lr"),
            0u)
      << progress_text(run);
}

TEST(ProgressText, LeavesOutWhatWasNotMeasured) {
  RunProgress run = in_the_middle();
  run.losses = {};
  run.seconds_left = -1;
  EXPECT_EQ(progress_text(run), "epoch 12/300 120/250  lr 0.0013  80.0 images/s  data-wait 25 %");
  run.scores = {.epoch = 11};  // without ground truth
  EXPECT_EQ(progress_text(run).find("AP"), std::string::npos) << progress_text(run);
}

TEST(ProgressText, FindsTheScoresOfAResumedRunInItsTable) {
  const MetricsTable table{{"epoch", "AP", "AP50"}, {{1.5, 0.5, 0.75}, {2, NAN, NAN}, {3, 0.6, 0.8}}};
  EXPECT_FALSE(last_scores(table, 1));
  ASSERT_TRUE(last_scores(table, 2));
  EXPECT_EQ(last_scores(table, 2)->epoch, 1.5);
  EXPECT_EQ(last_scores(table, 2)->AP, 0.5);
  EXPECT_EQ(last_scores(table, 2)->AP50, 0.75);
  EXPECT_EQ(last_scores(table, 3)->epoch, 3);
  EXPECT_FALSE(last_scores({{"epoch", "loss"}, {{1, 2}}}, 3)) << "of a run without evaluations";
}

TEST(ProgressText, SaysHowFarAnEvaluationIs) {
  EXPECT_EQ(position_text(in_the_middle()) + "  " + evaluation_text(34, 87),
            "epoch 12/300 120/250  evaluating 34/87 images");
}

TEST(ProgressText, DoesNotGuessHowManyEpochsThereWillBe) {
  RunProgress run = in_the_middle();
  run.epochs = 0;
  EXPECT_EQ(progress_text(run).find("epoch 12/? 120/250  loss"), 0u) << progress_text(run);
}

TEST(ProgressText, CountsIterationsWhereTheyAreTheLength) {
  RunProgress run = in_the_middle();
  run.iteration = 1200;
  EXPECT_EQ(progress_text(run).find("epoch 12/300 120/250  loss"), 0u) << progress_text(run);
  run.iterations = 6000;
  run.scores = {.epoch = 2.4, .AP50 = 0.5, .AP = 0.25};
  EXPECT_EQ(progress_text(run).find("iteration 1200/6000  loss"), 0u) << progress_text(run);
  EXPECT_NE(progress_text(run).find("AP 0.250 (iteration 600)"), std::string::npos) << progress_text(run);
}

TEST(ProgressText, ShowsWhatOnlySomeRunsHave) {
  RunProgress run = in_the_middle();
  run.step = 0;
  const std::string plain = progress_text(run);
  EXPECT_EQ(plain.find("epoch 12/300  loss"), 0u) << plain;
  for (const char* part : {"comm-wait", "GPU-busy", "loss scale"})
    EXPECT_EQ(plain.find(part), std::string::npos);
  run.many_ranks = run.device_beside_host = true;
  run.loss_scale = 65536;
  for (const char* part : {"comm-wait 0 %", "GPU-busy 0 %", "loss scale 65536"})
    EXPECT_NE(progress_text(run).find(part), std::string::npos) << progress_text(run);
}

}  // namespace
}  // namespace brightnet
