#include "train/report/run_page.h"

#include <cmath>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

Metrics some_metrics() {
  DetectionEvaluator evaluator({"cat", "dog"});
  evaluator.add(1, std::vector<ScoredBox>{{0, 0, 10, 10, 0, 0.9f}, {50, 0, 60, 10, 0, 0.6f}},
                std::vector<Annotation>{{0, 0, 10, 10, 0, false, false, 100}});
  return evaluator.finish();
}

RunDescription some_run() {
  RunDescription run;
  run.name = "the run";
  run.classes = {"cat", "dog"};
  run.training_objects = {70, 0};
  run.data = {{"training split", "9 images"}};
  run.choices = {{"train.batch", "16", "it fits"}};
  run.config = "train: {epochs: 3}\n";
  return run;
}

RunStanding after_three_epochs() {
  RunStanding now;
  now.curves = {{"epoch", "loss", "AP50", "AP", "images_per_s", "seconds"},
                {{1, 3, 0.25, 0.125, 10, 30}, {2, 2, 0.75, 0.5, 10, 30}, {3, 1, NAN, NAN, 12.5, 30}}};
  for (const auto& row : now.curves.rows) now.totals.add(row[0], row[5], row[4]);
  now.best_epoch = 2;
  return now;
}

/// The value of a headline.
std::string tile(const Page& page, const std::string& name) {
  const Json section = page.section("");
  for (const Json& item : section["items"]) {
    if (item[0] == name) return item[1].get<std::string>();
  }
  return "none";
}

TEST(RunPage, TheHeadlinesAreThoseOfTheBestEpoch) {
  RunStanding now = after_three_epochs();
  Page page = run_page(some_run(), now, Page("", ""));
  EXPECT_EQ(tile(page, "best epoch"), "2");
  EXPECT_EQ(tile(page, "epochs trained"), "3");
  EXPECT_EQ(tile(page, "images per second"), "10.8") << "of the whole run";
  const Metrics metrics = some_metrics();
  now.best = &metrics;
  page = run_page(some_run(), now, Page("", ""));
  EXPECT_EQ(tile(page, "AP50 (mAP@0.5)"), "1.000");
  EXPECT_EQ(tile(page, "recall at confidence 0.900"), "1.000");
  EXPECT_EQ(page.section("Classes")["rows"][0],
            Json::parse(R"(["cat","70","1","1.000","1.000","1.000","1.000","1.000","0.900"])"));
  EXPECT_EQ(page.section("Classes")["rows"][1], Json::parse(R"(["dog","0","0","–","–","–","–","–","–"])"));
  EXPECT_EQ(page.section("Curves")["marked"], 2);
  EXPECT_FALSE(run_page(some_run(), RunStanding(), Page("", "")).html().empty()) << "before the first epoch";
}

TEST(RunPage, DoesNotCountTheEpochThatIsNotDone) {
  RunStanding now = after_three_epochs();
  now.curves.rows.push_back({3.75, 1, 0.75, 0.5, NAN, NAN});
  now.totals.add(3.75, NAN, NAN);
  const Page page = run_page(some_run(), now, Page("", ""));
  EXPECT_EQ(tile(page, "epochs trained"), "3");
  EXPECT_NE(page.html().find("after epoch 3 "), std::string::npos);
}

TEST(RunPage, WarnsBeforeItJudges) {
  RunDescription run = some_run();
  RunStanding now = after_three_epochs();
  EXPECT_TRUE(run_page(run, now, Page("", "")).section("What stands out").is_null());
  run.warnings = {"trained on"};
  now.sentences = {"judged"};
  EXPECT_EQ(run_page(run, now, Page("", "")).section("What stands out")["items"],
            Json::parse(R"(["trained on", "judged"])"));
}

TEST(RunPage, OfARunThatFoundNothingHasNoConfidenceToUse) {
  DetectionEvaluator evaluator({"cat"});
  evaluator.add(1, {}, std::vector<Annotation>{{0, 0, 10, 10, 0, false, false, 100}});
  const Metrics metrics = evaluator.finish();
  RunStanding now = after_three_epochs();
  now.best = &metrics;
  const Json headlines = run_page(some_run(), now, Page("", "")).section("");
  EXPECT_EQ(headlines.dump().find("confidence"), std::string::npos) << headlines.dump();
}

TEST(RunPage, AResumedRunKeepsWhatAnEarlierProcessFound) {
  const Metrics metrics = some_metrics();
  RunStanding now = after_three_epochs();
  now.best = &metrics;
  const std::string before = run_page(some_run(), now, Page("", "")).html();
  now.best = nullptr;
  RunDescription resumed = some_run();
  resumed.choices.clear();  // config.yaml has the values, and nothing is automatic any more
  const Page page = run_page(resumed, now, Page::read(before));
  for (const char* title :
       {"Classes", Page::score_title, Page::confusion_title, "Values chosen for this run"})
    EXPECT_FALSE(page.section(title).is_null()) << title;
  EXPECT_EQ(page.section("Classes")["rows"][0][0], "cat");
}

// Within the second epoch: what the table has of the second one's end is another evaluation.
TEST(RunPage, AResumedRunHasTheHeadlinesOfTheBestEvaluation) {
  Metrics earlier;
  earlier.AP50 = 0.875;
  earlier.AP = 0.625;
  earlier.best = {.precision = 0.8, .recall = 0.7, .f1 = 0.75, .score = 0.3};
  RunStanding now = after_three_epochs();
  EXPECT_EQ(tile(run_page(some_run(), now, Page("", "")), "AP (mAP@0.5:0.95)"), "–");
  now.earlier_best = &earlier;
  Page page = run_page(some_run(), now, Page("", ""));
  EXPECT_EQ(tile(page, "AP50 (mAP@0.5)"), "0.875");
  EXPECT_EQ(tile(page, "AP (mAP@0.5:0.95)"), "0.625");
  EXPECT_EQ(tile(page, "precision at confidence 0.300"), "0.800");
  EXPECT_EQ(tile(page, "recall at confidence 0.300"), "0.700");
  EXPECT_TRUE(page.section(Page::confusion_title).is_null()) << "it has none";
  const Metrics better = some_metrics();
  now.best = &better;
  page = run_page(some_run(), now, Page("", ""));
  EXPECT_EQ(tile(page, "AP50 (mAP@0.5)"), "1.000");
  EXPECT_EQ(tile(page, "precision at confidence 0.300"), "none");
}

TEST(RunPage, OfAnEvaluationHasNoTrainingObjects) {
  const Page page = evaluation_page("weights", some_metrics(), {});
  EXPECT_EQ(page.section("Classes")["head"][1], "objects");
  EXPECT_EQ(page.section("Classes")["rows"][0][1], "1");
  EXPECT_EQ(tile(page, "AP50 (mAP@0.5)"), "1.000");
}

TEST(RunPage, OfAnEvaluationHasItsScoresAsHeadlines) {
  Metrics metrics = some_metrics();
  metrics.AP50 = 0.875;
  metrics.AP = 0.625;
  metrics.AP75 = 0.5;
  metrics.AR = 0.25;
  metrics.best = {.precision = 0.8, .recall = 0.7, .f1 = 0.75, .score = 0.3};
  const Page page = evaluation_page("weights", metrics, {});
  EXPECT_EQ(tile(page, "AP50 (mAP@0.5)"), "0.875");
  EXPECT_EQ(tile(page, "AP (mAP@0.5:0.95)"), "0.625");
  EXPECT_EQ(tile(page, "AP75"), "0.500");
  EXPECT_EQ(tile(page, "AR (100 detections)"), "0.250");
  EXPECT_EQ(tile(page, "precision at confidence 0.300"), "0.800");
  EXPECT_EQ(tile(page, "recall at confidence 0.300"), "0.700");
}

TEST(RunPage, HasTheCurvesOfTheSpeedAndOfTheGradientsNorm) {
  RunStanding now;
  now.curves = {{"epoch", "images_per_s", "gradient_norm", "clipped"}, {{1, 10, 3, 0.5}, {2, 12, 2.5, 0.25}}};
  const Json curves = run_page(some_run(), now, Page("", "")).section("Curves");
  const auto values = [&](const std::string& title) {
    for (const Json& panel : curves["panels"]) {
      if (panel["title"] == title) return panel["curves"][0]["y"];
    }
    return Json();
  };
  EXPECT_EQ(values("images per second"), Json::parse("[10.0, 12.0]")) << curves.dump();
  EXPECT_EQ(values("norm of the gradient"), Json::parse("[3.0, 2.5]")) << curves.dump();
}

}  // namespace
}  // namespace brightnet
