#include "train/report/plots.h"

#include <cmath>

#include <gtest/gtest.h>

#include "data/drawing/canvas.h"
#include "train/report/evaluation_plots.h"

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

int pixel(double units) {
  return static_cast<int>(std::lround(units * Canvas::density));
}

TEST(Plots, ResultsRiseAndFallAsTheNumbersDo) {
  PlotPanel panel{"AP", {Curve{"AP", {}, {}}}, Better::higher};
  for (int epoch = 5; epoch <= 20; epoch += 5) {
    panel.curves[0].x.push_back(epoch);
    panel.curves[0].y.push_back(epoch / 20.0);
  }
  PlotPanel longer = panel;
  longer.curves[0].x.insert(longer.curves[0].x.begin(), 1);
  longer.curves[0].y.insert(longer.curves[0].y.begin(), NAN);
  longer.curves[0] = {"", {1, 20}, {0, 0}};
  const cv::Mat plot = plot_panels({panel, longer}, "epoch");
  const cv::Vec3b blue(0, 114, 178);
  // The first panel's inside starts 72 and ends 426 units from the left; epoch 5 is at 147. The legend is
  // above 85.
  const cv::Mat inside = plot.rowRange(pixel(85), plot.rows);
  const double early = height_of(inside, pixel(165), blue), late = height_of(inside, pixel(415), blue);
  EXPECT_GT(early, late + pixel(80));
  EXPECT_TRUE(std::isnan(height_of(inside, pixel(120), blue))) << "before the first evaluation";
}

TEST(Plots, TheBestValueAndEpochAreFound) {
  const Curve curve{"loss", {1, 2, 3, 4}, {3, 1, 2, 5}};
  EXPECT_EQ(best_of(curve, Better::lower), 1);
  EXPECT_EQ(best_of(curve, Better::higher), 3);
  EXPECT_EQ(best_of(curve, Better::neither), -1);
  EXPECT_EQ(best_of({"none", {}, {}}, Better::lower), -1);
  // The mark is a dashed line at its epoch, in every panel.
  const PlotPanel panel{"loss", {curve}, Better::lower};
  const cv::Mat plain = plot_panels({panel, panel}, "epoch"),
                marked = plot_panels({panel, panel}, "epoch", 3);
  const int x = pixel(72 + 354 * 2.0 / 3), next = x + pixel(440);
  for (const int column : {x, next}) {
    const cv::Rect around(column - 2, pixel(120), 5, pixel(100));
    EXPECT_GT(cv::norm(plain(around), marked(around), cv::NORM_INF), 40);
  }
  EXPECT_EQ(cv::norm(plain, plot_panels({panel, panel}, "epoch", 99), cv::NORM_INF), 0)
      << "not among the epochs";
}

TEST(Plots, TheBestValueIsOneOfTheLastInputSize) {
  const MetricsTable table{
      {"epoch", "AP", "input_height"},
      {{1, 0.5, 224}, {2, 0.9, 224}, {3, 0.8, 320}, {4, 0.6, 416}, {5, 0.7, 416}, {6, 0.65, 416}}};
  const auto panels = results_panels(table);
  ASSERT_EQ(panels.size(), 1u);
  EXPECT_EQ(panels[0].grew, (std::vector<double>{2, 3}));
  ASSERT_EQ(panels[0].curves.size(), 1u);
  EXPECT_EQ(panels[0].curves[0].comparable_after, 3);
  EXPECT_EQ(best_of(panels[0].curves[0], Better::higher), 4);
}

TEST(Plots, PanelsFollowFromTheColumnsThatATableHas) {
  const auto titles = [](const std::vector<std::string>& columns) {
    std::string all;
    for (const PlotPanel& panel : results_panels({columns, {std::vector<double>(columns.size(), 1.0)}})) {
      all += (all.empty() ? "" : "; ") + panel.title + ':';
      for (const Curve& curve : panel.curves) all += ' ' + curve.name;
    }
    return all;
  };
  EXPECT_EQ(titles({"epoch", "box_loss", "loss", "AP", "AP50", "AR", "learning_rate"}),
            "box loss: training; sum of the losses: training; average precision (mAP): AP50 (mAP@0.5) AP "
            "(mAP@0.5:0.95); average recall: AR (0.5:0.95); learning rate: learning rate");
  EXPECT_EQ(
      titles({"epoch", "box_loss", "val_box", "class_loss", "val_class", "precision", "recall", "AR",
              "ap_cat", "ap_dog"}),
      "box loss: training validation; class loss: training validation; precision and recall: precision recall; "
      "AP of each class: cat dog");
  EXPECT_EQ(titles({"epoch"}), "");
}

TEST(Plots, EpochsAreWholeNumbers) {
  const cv::Mat plot = plot_panels({{"AP", {{"AP", {1, 2}, {0.5, 0.6}}}, Better::higher}}, "epoch");
  // The first epoch's number is centred at the left end, 72 units from the left, below the axis at 294.
  const auto darkest = [&](double left, double right) {
    double dark = 255;
    cv::minMaxLoc(plot(cv::Rect(pixel(left), pixel(300), pixel(right) - pixel(left), pixel(14))).reshape(1),
                  &dark);
    return dark;
  };
  EXPECT_LT(darkest(68, 76), 150) << "a 1";
  EXPECT_GT(darkest(78, 90), 200) << "and not 1.0";
}

TEST(Plots, TheEpochsOfALongRunAreNumberedInSeveralPlaces) {
  Curve curve{"AP", {}, {}};
  for (int epoch = 1; epoch <= 60; ++epoch) {
    curve.x.push_back(epoch);
    curve.y.push_back(0.5);
  }
  const cv::Mat plot = plot_panels({{"AP", {curve}, Better::higher}}, "epoch");
  // Numbers are dark, and further from each other than their digits are.
  int numbers = 0;
  double last = -INFINITY;
  for (int x = pixel(60); x < pixel(440); ++x) {
    double dark = 255;
    cv::minMaxLoc(plot(cv::Rect(x, pixel(300), 1, pixel(14))).reshape(1), &dark);
    if (dark > 150) continue;
    if (x - last > pixel(12)) ++numbers;
    last = x;
  }
  EXPECT_GE(numbers, 3);
  EXPECT_LE(numbers, 8);
}

TEST(Plots, AValidationLossThatJumpsEarlyIsExplainedWhereItIsDrawn) {
  const auto note = [](const std::vector<double>& validation, double settling_epochs = 3) {
    MetricsTable table{{"epoch", "loss", "val_loss"}, {}};
    for (size_t i = 0; i < validation.size(); ++i)
      table.rows.push_back({static_cast<double>(i + 1), 5.0, validation[i]});
    return results_panels(table, settling_epochs)[0].note;
  };
  EXPECT_NE(note({6, 9, 4, 3}), "");
  EXPECT_EQ(note({9, 6, 4, 3}), "");
  EXPECT_EQ(note({6, 9, 4, 3}, 0.5), "") << "an epoch of many steps";
  EXPECT_EQ(note({9, 5, 4, 9}), "") << "when all has settled";
  EXPECT_EQ(note({9, 6, 5, 4, 4, 4, 4, 6}), "") << "that is over-fitting, or the data";
  EXPECT_EQ(note({}), "");
}

TEST(Plots, ResultsSurviveEveryTable) {
  for (const MetricsTable& table :
       {MetricsTable{{"epoch", "loss"}, {}}, MetricsTable{{"epoch", "loss"}, {{1, 3}}},
        MetricsTable{{"epoch", "loss"}, {{1, NAN}, {2, INFINITY}}},
        MetricsTable{{"epoch", "loss"}, {{1, 0}, {2, 0}}},
        MetricsTable{{"epoch", "loss"}, {{1, 1e9}, {2, 1e-6}}},
        MetricsTable{{"epoch", "loss"}, {{1, -3}, {2, -3}}}}) {
    EXPECT_FALSE(plot_panels(results_panels(table), "epoch", 1).empty());
  }
  EXPECT_FALSE(plot_panels({}, "epoch").empty());
}

TEST(Plots, ConfusionIsDarkOnTheDiagonalOfAGoodDetector) {
  const Metrics metrics = some_metrics(3);
  const cv::Mat plot = plot_confusion(metrics);
  // Cells are 92 units, from (144, 92) on; the corner of a cell carries no number.
  for (int predicted = 0; predicted < 3; ++predicted) {
    for (int truth = 0; truth < 3; ++truth) {
      const int brightness =
          plot.at<cv::Vec3b>(pixel(92 + predicted * 92 + 10), pixel(144 + truth * 92 + 10))[0];
      if (predicted == truth) {
        EXPECT_LT(brightness, 40);
      } else {
        EXPECT_GT(brightness, 240);
      }
    }
  }
}

TEST(Plots, ConfusionHasWhatWasDetectedInRowsAndWhatIsLabelledInColumns) {
  DetectionEvaluator evaluator({"a", "b"});
  evaluator.add(1, std::vector<ScoredBox>{{0, 0, 10, 10, 0, 0.9f}},
                std::vector<Annotation>{{0, 0, 10, 10, 1, false, false, 100}});  // a b taken for an a
  const cv::Mat plot = plot_confusion(evaluator.finish());
  const auto brightness = [&](int row, int column) {
    return plot.at<cv::Vec3b>(pixel(92 + row * 92 + 10), pixel(144 + column * 92 + 10))[0];
  };
  EXPECT_LT(brightness(0, 1), 40);
  EXPECT_GT(brightness(1, 0), 240);
}

TEST(Plots, TheBackgroundOfTheConfusionHasAColourOfItsOwn) {
  DetectionEvaluator evaluator({"a", "b"});
  evaluator.add(1, std::vector<ScoredBox>{{50, 0, 60, 10, 0, 0.9f}},
                std::vector<Annotation>{{0, 0, 10, 10, 0, false, false, 100}});
  const cv::Mat plot =
      plot_confusion(evaluator.finish());  // all of a's detections are false, all its objects missed
  const auto is_brown = [&](int predicted, int truth) {
    const double gap = 8;
    const cv::Vec3b color = plot.at<cv::Vec3b>(pixel(92 + predicted * 92 + (predicted == 2 ? gap : 0) + 10),
                                               pixel(144 + truth * 92 + (truth == 2 ? gap : 0) + 10));
    return color[0] > color[2] + 50;
  };
  EXPECT_TRUE(is_brown(2, 0)) << "missed";
  EXPECT_TRUE(is_brown(0, 2)) << "a false alarm";
  EXPECT_FALSE(is_brown(0, 0));
  EXPECT_FALSE(is_brown(2, 2));
}

// docs/plots.md: the shares of the column of false alarms are of the row's detections.
TEST(Plots, FalseAlarmsAreAShareOfTheDetectionsOfTheirClass) {
  std::vector<ScoredBox> boxes{{80, 50, 90, 60, 0, 0.9f}};
  std::vector<Annotation> truths;
  for (const float x : {0.0f, 20.0f, 40.0f}) {
    boxes.push_back({x, 0, x + 10, 10, 0, 0.9f});
    truths.push_back({x, 0, x + 10, 10, 0, false, false, 100});
  }
  DetectionEvaluator evaluator({"a", "b"});
  evaluator.add(1, boxes, truths);
  const cv::Mat plot = plot_confusion(evaluator.finish());
  // One of four; all that are false would be dark, and none white.
  const cv::Vec3b color = plot.at<cv::Vec3b>(pixel(92 + 10), pixel(144 + 2 * 92 + 8 + 10));
  EXPECT_GT(color[0], 200);
  EXPECT_LT(color[2], 200);
}

TEST(Plots, TheBestPointLiesAtItsRecallAndItsPrecision) {
  Metrics metrics = some_metrics(1);
  metrics.best = {.precision = 0.9, .recall = 0.3, .f1 = 0.45, .score = 0.4};
  const cv::Vec3b red(213, 40, 60);
  // The inside is 560 units wide from 80 on, and 540 high from 76 on. The mark is a ring, to the right of whose middle are
  // no dashes.
  const auto is_marked = [&](const cv::Mat& plot, double x, double y) {
    return cv::norm(plot.at<cv::Vec3b>(pixel(76 + 540 * (1 - y)), pixel(80 + 560 * x + 4.5)), red) < 60;
  };
  const cv::Mat over_recall = plot_precision_recall(metrics);
  EXPECT_TRUE(is_marked(over_recall, 0.3, 0.9));
  EXPECT_FALSE(is_marked(over_recall, 0.9, 0.3));
  EXPECT_TRUE(is_marked(plot_over_score(metrics, OverScore::precision), 0.4, 0.9));
  EXPECT_TRUE(is_marked(plot_over_score(metrics, OverScore::recall), 0.4, 0.3));
  EXPECT_TRUE(is_marked(plot_over_score(metrics, OverScore::f1), 0.4, 0.45));
}

TEST(Plots, PrecisionOverRecallNamesTheAp50OfEachClass) {
  Metrics metrics = some_metrics(2);
  const cv::Mat before = plot_precision_recall(metrics);
  metrics.per_class[1].AP = 0.25;
  EXPECT_EQ(cv::norm(before, plot_precision_recall(metrics), cv::NORM_INF), 0)
      << "as its curve is at IoU 0.5";
  metrics.per_class[1].AP50 = 0.25;
  EXPECT_GT(cv::norm(before, plot_precision_recall(metrics), cv::NORM_INF), 40);
}

TEST(Plots, PicturesComeForAnyNumberOfClasses) {
  for (int classes : {1, 10, 11, 80, 400}) {
    const Metrics metrics = some_metrics(classes);
    for (const cv::Mat& plot :
         {plot_precision_recall(metrics), plot_over_score(metrics, OverScore::f1), plot_confusion(metrics)}) {
      EXPECT_EQ(plot.type(), CV_8UC3);
      EXPECT_LT(std::max(plot.cols, plot.rows), 2000);
    }
  }
  const Metrics none = DetectionEvaluator({"a"}).finish();
  EXPECT_FALSE(plot_precision_recall(none).empty());
  EXPECT_FALSE(plot_over_score(none, OverScore::recall).empty());
  EXPECT_FALSE(plot_confusion(none).empty());
  Metrics many;
  many.confusion = ConfusionMatrix(2000);
  many.per_class.resize(2000);
  many.confusion.counts[2000 * 2001 + 3] = 7;
  EXPECT_LT(plot_confusion(many).cols, 2000) << "the first classes, and the number of the others";
}

}  // namespace
}  // namespace brightnet
