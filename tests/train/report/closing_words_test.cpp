// Each diagnosis on made-up curves that show it, and none on curves that do not.
#include "train/report/closing_words.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

/// A run of `epochs` whose AP and loss follow these functions of u, from 0 to 1.
MetricsTable curves(int epochs, const std::function<double(double)>& AP,
                    const std::function<double(double)>& loss) {
  MetricsTable table{{"epoch", "loss", "AP"}, {}};
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const double u = static_cast<double>(epoch) / epochs;
    table.rows.push_back({static_cast<double>(epoch), loss(u), AP(u)});
  }
  return table;
}

double falling(double u) {
  return 10 * std::exp(-3 * u) + 1;
}

/// Rises soon and stays, with the noise of a small validation split.
double risen(double u) {
  return 0.6 * (1 - std::exp(-12 * u)) + 0.01 * std::sin(1000 * u);
}

/// Three classes, 100 objects each, found and placed well: nothing stands out.
RunOutcome healthy() {
  RunOutcome run;
  run.curves = curves(60, risen, falling);
  run.best.AP = 0.6;
  run.best.AP50 = 0.85;
  run.best.AP75 = 0.65;
  run.best.APs = 0.4;
  run.best.truths = 300;
  run.best.best = {.precision = 0.88, .recall = 0.85, .f1 = 0.86, .score = 0.31f};
  run.best.confusion = ConfusionMatrix(3);
  for (int c = 0; c < 3; ++c) {
    ClassMetrics& one = run.best.per_class.emplace_back();
    one.name = std::string(1, static_cast<char>('a' + c));
    one.AP50 = 0.85;
    one.truths = 100;
    run.best.confusion.counts[static_cast<size_t>(c * 4 + c)] = 85;
    run.best.confusion.counts[static_cast<size_t>(c * 4 + 3)] = 12;  // false alarms
    run.best.confusion.counts[static_cast<size_t>(3 * 4 + c)] = 15;  // missed
  }
  run.training_objects = {400, 500, 300};
  return run;
}

int64_t& cell(RunOutcome& run, int predicted, int truth) {
  return run.best.confusion.counts[static_cast<size_t>(predicted * (run.best.confusion.classes + 1) + truth)];
}

/// Exactly one sentence, which has these words.
void expect_alone(const RunOutcome& run, const std::vector<std::string>& words) {
  const auto sentences = closing_words(run);
  ASSERT_EQ(sentences.size(), 1u) << (sentences.empty() ? "none" : sentences[0] + " | " + sentences.back());
  for (const std::string& word : words)
    EXPECT_NE(sentences[0].find(word), std::string::npos) << "'" << word << "' is not in: " << sentences[0];
}

TEST(ClosingWords, AreNotNeededForAHealthyRun) {
  const auto sentences = closing_words(healthy());
  EXPECT_TRUE(sentences.empty()) << sentences[0];
}

/// Scores of the last weights on 100 objects of the training images and on as many of validation.
TrainingImages scores(double training_AP, double training_AP50, double validation_AP) {
  TrainingImages images;
  images.training.AP = training_AP;
  images.training.AP50 = training_AP50;
  images.validation.AP = validation_AP;
  images.training.truths = images.validation.truths = 100;
  return images;
}

TEST(ClosingWords, SayThatTheTrainingImagesAreKnownFarBetter) {
  RunOutcome run = healthy();
  run.training_images = scores(0.9, 0.99, 0.41);
  expect_alone(run,
               {"It over-fits", "AP 0.900 on training images", "0.410 on validation images", "augment.*"});
  run.training_images = scores(0.7, 0.9, 0.6);
  EXPECT_TRUE(closing_words(run).empty()) << "some difference is usual";
  // It must not be told to train longer because validation finds nothing.
  run.training_images = scores(0.96, 1, 0.001);
  run.best.AP50 = 0.009;
  ASSERT_FALSE(closing_words(run).empty());
  EXPECT_NE(closing_words(run)[0].find("AP 0.960 on training images"), std::string::npos)
      << closing_words(run)[0];
  run.best.AP50 = 0.85;
  run.training_images = scores(0.9, 0.99, 0.41);
  run.training_images->training.truths = 10;
  EXPECT_TRUE(closing_words(run).empty()) << "ten objects tell nothing";
}

TEST(ClosingWords, SayThatNotEvenTheTrainingImagesAreKnown) {
  RunOutcome run = healthy();
  run.training_images = scores(0.2, 0.4, 0.18);
  expect_alone(run, {"It under-fits", "only AP50 0.400 on images that they were trained on",
                     "train longer (--epochs"});
  run.stopped_early = true;
  expect_alone(run, {"It under-fits", "the score rose no more", "a larger model (--model)"});
  run.stopped_early = false;
  // A run that was still improving needs no larger model yet.
  run.curves = curves(
      60, [](double u) { return 0.6 * u; }, falling);
  expect_alone(run, {"still improving"});
}

TEST(ClosingWords, JudgeTheEvaluationsAtTheFinalInputSizeAlone) {
  RunOutcome run = healthy();
  run.curves.columns.emplace_back("input_height");
  for (auto& row : run.curves.rows) {
    const bool small = row[0] <= 20;
    row.push_back(small ? 224 : 416);
    if (small) row[2] = 0.9;
  }
  const auto sentences = closing_words(run);
  EXPECT_TRUE(sentences.empty()) << sentences[0];
  for (auto& row : run.curves.rows) row[3] = 416;
  expect_alone(run, {"It over-fits from about epoch", "fell from 0.900"});
}

TEST(ClosingWords, SayThatTheValidationLossRisesWhileNothingIsGained) {
  RunOutcome run = healthy();
  run.curves.columns.emplace_back("val_loss");
  const auto with_val_loss = [&](const std::function<double(double)>& loss) {
    for (size_t i = 0; i < run.curves.rows.size(); ++i) {
      run.curves.rows[i].resize(3);
      run.curves.rows[i].push_back(loss(static_cast<double>(i + 1) / 60));
    }
  };
  with_val_loss([](double u) { return 3 + 2 * std::abs(u - 0.4); });
  expect_alone(run, {"begins to over-fit from about epoch 2", "validation loss rose from 3", "augment.*"});
  with_val_loss([](double u) { return 3 + 2 * std::max(0.0, 0.4 - u); });
  EXPECT_TRUE(closing_words(run).empty()) << "it has levelled off";
  with_val_loss([](double) { return std::nan(""); });
  EXPECT_TRUE(closing_words(run).empty()) << "an old run has none";
}

TEST(ClosingWords, SayFromWhichEpochARunOverFits) {
  RunOutcome run = healthy();
  const auto peak_at_a_third = [](double u) { return u < 1.0 / 3 ? 1.5 * u : 0.5 - 0.2 * (u - 1.0 / 3); };
  run.curves = curves(60, peak_at_a_third, falling);
  expect_alone(run, {"over-fits from about epoch 2", "AP on the validation images fell", "augment"});
  // A validation loss that falls meanwhile says the contrary.
  run.curves.columns.emplace_back("val_loss");
  for (auto& row : run.curves.rows) row.push_back(10 - 0.1 * row[0]);
  EXPECT_TRUE(closing_words(run).empty());
  run.best.truths = 4;
  run.curves = curves(60, peak_at_a_third, falling);
  EXPECT_TRUE(closing_words(run).empty()) << "the scores of four objects";
  run.best.truths = 300;
  // The same score with a loss that rises as well is something else.
  run.curves = curves(60, peak_at_a_third, [](double u) { return 1 + u; });
  EXPECT_TRUE(closing_words(run).empty());
  // Nor do three evaluations make a trend.
  run.curves = curves(3, peak_at_a_third, falling);
  EXPECT_TRUE(closing_words(run).empty());
}

TEST(ClosingWords, SayASmallFallOfARunThatKnowsItsTrainingImages) {
  RunOutcome run = healthy();
  run.curves = curves(
      60, [](double u) { return u < 1.0 / 3 ? 1.8 * u : 0.6 - 0.035 * (u - 1.0 / 3); }, falling);
  EXPECT_TRUE(closing_words(run).empty()) << "so small a fall alone may be noise";
  run.training_images = scores(0.7, 0.9, 0.6);
  EXPECT_TRUE(closing_words(run).empty()) << "and so it is beside a usual gap";
  run.training_images = scores(0.84, 0.99, 0.61);
  expect_alone(run, {"over-fits from about epoch 2", "AP on the validation images fell"});
}

TEST(ClosingWords, SayThatARunWasStillImproving) {
  RunOutcome run = healthy();
  run.curves = curves(
      60, [](double u) { return 0.5 * u; }, falling);
  expect_alone(run, {"still improving", "--epochs"});
  run.stopped_early = true;
  EXPECT_TRUE(closing_words(run).empty()) << "it had the time";
}

TEST(ClosingWords, SayThatNothingWasLearnedAndNothingElse) {
  RunOutcome run = healthy();
  run.best.AP = run.best.AP50 = run.best.AP75 = 0.001;
  run.curves = curves(
      60, [](double) { return 0.001; }, falling);
  expect_alone(run, {"Next to nothing", "train longer"});
  run.stopped_early = true;
  expect_alone(run, {"Next to nothing", "without train.patience"});
  run.curves = curves(
      60, [](double) { return 0.001; }, [](double) { return 7.0; });
  expect_alone(run, {"Next to nothing", "optimizer.rate", "data check"});
  run.curves.rows.resize(1);
  expect_alone(run, {"Next to nothing", "only evaluation", "train longer"});
  run.best.AP50 = no_truths;
  EXPECT_EQ(closing_words(run).size(), 0u) << "no object is labelled in the validation split";
}

TEST(ClosingWords, SayThatBoxesAreBadlyPlaced) {
  RunOutcome run = healthy();
  run.best.AP75 = 0.2;
  expect_alone(run, {"badly placed", "AP50 0.850", "AP75 0.200", "--size"});
}

TEST(ClosingWords, NameAClassWithFewObjects) {
  RunOutcome run = healthy();
  run.training_objects = {400, 12, 300};
  EXPECT_TRUE(closing_words(run).empty()) << "few, but found";
  run.best.per_class[1].AP50 = 0.3;
  expect_alone(run, {"Class b has few objects, 12 of the 712", "0.300", "class_weights"});
  run.best.per_class[1].truths = 4;
  EXPECT_TRUE(closing_words(run).empty()) << "four validation objects of it";
  run.best.per_class[1].truths = 100;
  run.training_objects = {};
  EXPECT_TRUE(closing_words(run).empty()) << "unknown";
}

TEST(ClosingWords, NameTheClassesThatAreConfused) {
  RunOutcome run = healthy();
  cell(run, 0, 2) = 30;
  cell(run, 2, 2) = 55;
  run.best.best.recall = 0.5;
  expect_alone(run, {"30 % of the objects of class c are taken for a", "confusion_matrix.png"});
  run.best.best.recall = 0.85;
  cell(run, 0, 2) = 10;
  EXPECT_TRUE(closing_words(run).empty());
}

TEST(ClosingWords, TellFalseAlarmsFromMisses) {
  RunOutcome run = healthy();
  run.best.best.precision = 0.3;
  expect_alone(run, {"Many detections are false alarms (precision 0.300 at confidence 0.310)"});
  run = healthy();
  run.best.best.recall = 0.4;
  expect_alone(run, {"Many objects are missed (recall 0.400 at confidence 0.310)", "larger model"});
  run.best.APs = 0.1;
  expect_alone(run, {"Many objects are missed", "larger model"});
  run.best.truths = 19;
  EXPECT_TRUE(closing_words(run).empty()) << "so few objects say little";
  run.best.truths = 300;
  run.best.best = {};
  EXPECT_TRUE(closing_words(run).empty()) << "of a resumed run it may be unknown";
}

TEST(ClosingWords, DoNotContradictEachOther) {
  RunOutcome run = healthy();
  run.curves = curves(
      60, [](double u) { return 0.6 * u; }, falling);
  run.training_images = scores(0.99, 0.99, 0.6);
  run.best.best.recall = 0.4;
  run.best.AP75 = 0.1;
  const auto sentences = closing_words(run);
  ASSERT_EQ(sentences.size(), 3u);
  EXPECT_NE(sentences[0].find("It over-fits"), std::string::npos);
  for (const std::string& sentence : sentences) {
    EXPECT_EQ(sentence.find("train longer"), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find("longer training"), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find("larger model"), std::string::npos) << sentence;
  }
  // A run that was still improving is not told to take another model or size before it has been trained.
  run.training_images.reset();
  const auto longer = closing_words(run);
  ASSERT_EQ(longer.size(), 3u);
  EXPECT_NE(longer[0].find("still improving"), std::string::npos);
  for (const std::string& sentence : longer) {
    EXPECT_EQ(sentence.find("larger"), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find("varied"), std::string::npos) << sentence;
  }
}

TEST(ClosingWords, NameWhatHelpsObjectsThatAreSmallForTheNetwork) {
  RunOutcome run = healthy();
  // 40 pixels of a photograph of 4000 x 3000 are 5 of an input of 416: not small to COCO, and hardly to be seen.
  run.best.APs = no_truths;
  run.sizes = {.small = 4.8, .shrunk = 8.3, .heads = 2};
  EXPECT_TRUE(closing_words(run).empty()) << "they are found";
  run.best.best.recall = 0.4;
  expect_alone(run, {"Many objects are missed", "less than 5 x 5 pixels", "data.tiles"});
  run.sizes.shrunk = 1.5;
  expect_alone(run, {"Many objects are missed", "--size"});
  run.sizes.shrunk = 1;
  ASSERT_EQ(closing_words(run).size(), 1u);
  EXPECT_EQ(closing_words(run)[0].find("--size"), std::string::npos) << "enlarged images have no more detail";
  EXPECT_NE(closing_words(run)[0].find("yolov4-tiny-3l"), std::string::npos);
  run.sizes.heads = 3;
  expect_alone(run, {"from nearer"});
  run.sizes.small = 40;
  expect_alone(run, {"larger model"});
  run.sizes.small = 4.8;
  run.best.AP50 = 0.001;
  ASSERT_EQ(closing_words(run).size(), 2u);
  EXPECT_NE(closing_words(run)[1].find("A quarter of the objects have less than 5 x 5 pixels"),
            std::string::npos);
}

TEST(ClosingWords, SayThatAnchorsLimitTheRecallWhereThatIsKnown) {
  RunOutcome run = healthy();
  run.anchor_recall = 0.97;
  EXPECT_TRUE(closing_words(run).empty());
  run.anchor_recall = 0.7;
  expect_alone(run, {"70 %", "anchors: auto"});
}

TEST(ClosingWords, AreAtMostFourSentences) {
  RunOutcome run = healthy();
  run.curves = curves(
      60, [](double u) { return 0.5 * u; }, falling);
  run.anchor_recall = 0.5;
  run.best.AP75 = 0.1;
  run.training_objects = {400, 12, 300};
  run.best.per_class[1].AP50 = 0.1;
  cell(run, 0, 2) = 60;
  run.best.best.precision = 0.1;
  const auto sentences = closing_words(run);
  ASSERT_EQ(sentences.size(), 4u);
  EXPECT_NE(sentences[0].find("still improving"), std::string::npos);
}

}  // namespace
}  // namespace brightnet
