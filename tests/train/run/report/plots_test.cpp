#include "train/run/report/plots.h"

#include <cmath>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

/// Rows of pixels of nearly this colour in a column of pixels, as their mean; NaN for none.
double height_of(const cv::Mat& plot, int x, cv::Vec3b color) {
  double sum = 0;
  int count = 0;
  for (int y = 0; y < plot.rows; ++y) {
    if (cv::norm(plot.at<cv::Vec3b>(y, x), color) < 30) {
      sum += y;
      ++count;
    }
  }
  return count ? sum / count : NAN;
}

Metrics some_metrics(int classes) {
  std::vector<std::string> names;
  for (int c = 0; c < classes; ++c) names.push_back("class " + std::to_string(c));
  DetectionEvaluator evaluator(names);
  std::vector<Annotation> truths;
  std::vector<ScoredBox> detections;
  for (int c = 0; c < classes; ++c) {
    const float x = 20.0f * c;
    truths.push_back({x, 0, x + 10, 10, c, false, false, 100});
    detections.push_back({x, 0, x + 10, 10, c, 0.9f});
  }
  evaluator.add(1, detections, truths);
  return evaluator.finish();
}

TEST(Plots, ResultsRiseAndFallAsTheNumbersDo) {
  MetricsTable table{{"epoch", "AP"}, {}};
  for (int epoch = 1; epoch <= 20; ++epoch)
    table.rows.push_back({double(epoch), epoch % 5 ? NAN : epoch / 20.0});
  const cv::Mat plot = plot_results(table, {{"mAP", {"AP", "a column that is not there"}}});
  const cv::Vec3b blue(0, 114, 178);
  // The grid is 440 wide; its inside starts 68 and ends 428 pixels from the left. Epoch 5 is at 144.
  const double early = height_of(plot, 160, blue), late = height_of(plot, 420, blue);
  EXPECT_GT(early, late + 100);
  EXPECT_TRUE(std::isnan(height_of(plot, 120, blue)));  // before the first evaluation
}

TEST(Plots, EpochsAreWholeNumbers) {
  const cv::Mat plot = plot_results({{"epoch", "AP"}, {{1, 0.5}, {2, 0.6}}}, {{"AP", {"AP"}}});
  // The first epoch's number is centred at the left end, 68 pixels from the left, below the axis at 284.
  const auto darkest = [&](int left, int right) {
    double dark = 255;
    cv::minMaxLoc(plot(cv::Rect(left, 291, right - left, 14)).reshape(1), &dark);
    return dark;
  };
  EXPECT_LT(darkest(64, 72), 150) << "a 1";
  EXPECT_GT(darkest(73, 84), 200) << "and not 1.0";
}

TEST(Plots, ResultsSurviveEveryTable) {
  const std::vector<ResultsPanel> panels{{"loss", {"loss"}, true}, {"AP", {"AP"}}, {"none", {}}};
  for (const MetricsTable& table :
       {MetricsTable{{"epoch", "loss"}, {}}, MetricsTable{{"epoch", "loss"}, {{1, 3}}},
        MetricsTable{{"epoch", "loss"}, {{1, NAN}, {2, INFINITY}}},
        MetricsTable{{"epoch", "loss"}, {{1, 0}, {2, 0}}},
        MetricsTable{{"epoch", "loss"}, {{1, 1e9}, {2, 1e-6}}},
        MetricsTable{{"epoch", "loss"}, {{1, -3}, {2, -3}}}}) {
    EXPECT_FALSE(plot_results(table, panels).empty());
  }
  EXPECT_FALSE(plot_results({{"epoch"}, {}}, {}).empty());
}

TEST(Plots, NamesOfOtherScriptsAreShownAsNumbers) {
  const Metrics plain = some_metrics(2);
  Metrics renamed = plain;
  renamed.per_class[1].name = "猫";
  EXPECT_EQ(cv::norm(plot_confusion(plain), plot_confusion(renamed), cv::NORM_INF), 0);
  EXPECT_EQ(cv::norm(plot_precision_recall(plain), plot_precision_recall(renamed), cv::NORM_INF), 0);
}

TEST(Plots, ConfusionIsDarkOnTheDiagonalOfAGoodDetector) {
  const cv::Mat plot = plot_confusion(some_metrics(3));
  // Cells are 90 pixels, from (170, 56) on; the corner of a cell carries no number.
  for (int predicted = 0; predicted < 3; ++predicted) {
    for (int truth = 0; truth < 3; ++truth) {
      const int brightness = plot.at<cv::Vec3b>(56 + predicted * 90 + 15, 170 + truth * 90 + 15)[0];
      if (predicted == truth) {
        EXPECT_LT(brightness, 40);
      } else {
        EXPECT_GT(brightness, 240);
      }
    }
  }
}

TEST(Plots, PicturesComeForAnyNumberOfClasses) {
  for (int classes : {1, 10, 11, 80, 400}) {
    const Metrics metrics = some_metrics(classes);
    for (const cv::Mat& plot : {plot_precision_recall(metrics), plot_confusion(metrics)}) {
      EXPECT_EQ(plot.type(), CV_8UC3);
      EXPECT_LT(std::max(plot.cols, plot.rows), 1300);
    }
  }
  EXPECT_FALSE(plot_precision_recall(DetectionEvaluator({"a"}).finish()).empty());
  EXPECT_FALSE(plot_confusion(DetectionEvaluator({"a"}).finish()).empty());
}

}  // namespace
}  // namespace brightnet
