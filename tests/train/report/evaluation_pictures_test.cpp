#include "train/report/evaluation_pictures.h"

#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "data/drawing/draw.h"
#include "train/report/evaluation_plots.h"

namespace brightnet {
namespace {

bool is_same_picture(const cv::Mat& a, const cv::Mat& b) {
  return a.size() == b.size() && cv::norm(a, b, cv::NORM_INF) == 0;
}

TEST(EvaluationPictures, EachPlotIsOfWhatItsNameSays) {
  DetectionEvaluator evaluator({"cat"});
  evaluator.add(
      1, std::vector<ScoredBox>{{0, 0, 10, 10, 0, 0.9f}, {50, 0, 60, 10, 0, 0.6f}, {70, 0, 80, 10, 0, 0.4f}},
      std::vector<Annotation>{{0, 0, 10, 10, 0, false, false, 100}, {20, 0, 30, 10, 0, false, false, 100}});
  const Metrics metrics = evaluator.finish();
  std::map<std::string, cv::Mat> pictures;
  plot_evaluation(metrics, [&](const std::string& name, const cv::Mat& rgb) { pictures[name] = rgb; });
  EXPECT_EQ(pictures.size(), 5u);
  for (const auto& [name, plot] : {std::pair("pr_curve.png", plot_precision_recall(metrics)),
                                   {"f1_curve.png", plot_over_score(metrics, OverScore::f1)},
                                   {"precision_curve.png", plot_over_score(metrics, OverScore::precision)},
                                   {"recall_curve.png", plot_over_score(metrics, OverScore::recall)},
                                   {"confusion_matrix.png", plot_confusion(metrics)}})
    EXPECT_TRUE(is_same_picture(pictures[name], plot)) << name;
}

TEST(EvaluationPictures, EachSheetHasTheNextOfTheWorstImages) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(::testing::TempDir()) / "evaluation_pictures";
  fs::create_directories(folder);
  Dataset dataset;
  dataset.classes = {"cat"};
  Metrics metrics, last;
  for (int i = 0; i < 9; ++i) {
    ImageRecord& record = dataset.images.emplace_back();
    record.file = folder / (std::to_string(i) + ".png");
    record.id = 100 - i;
    record.width = record.height = 40;
    write_image(record.file, cv::Mat(40, 40, CV_8UC3, cv::Scalar(25 * i, 90, 90)));
    metrics.worst.push_back({record.id, 0, {}});
  }
  last.worst = {metrics.worst.back()};
  ASSERT_EQ(worst_sheets(metrics.worst.size()), 2u);
  EXPECT_TRUE(is_same_picture(picture_worst(dataset, metrics, 1), picture_worst(dataset, last, 0)));
  EXPECT_FALSE(is_same_picture(picture_worst(dataset, metrics, 1), picture_worst(dataset, metrics, 0)));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace brightnet
