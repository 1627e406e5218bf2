#include "train/report/label_plot.h"

#include <gtest/gtest.h>

#include "data/drawing/canvas.h"

namespace brightnet {
namespace {

Dataset with_boxes(std::vector<Annotation> boxes, int classes = 2) {
  Dataset dataset;
  for (int i = 0; i < classes; ++i) dataset.classes.push_back("class " + std::to_string(i));
  dataset.images.push_back({"none.jpg", 0, 100, 100, std::move(boxes)});
  return dataset;
}

/// How many pixels differ.
int difference(const cv::Mat& a, const cv::Mat& b) {
  cv::Mat other;
  cv::absdiff(a, b, other);
  return cv::countNonZero(other.reshape(1));
}

TEST(LabelPlot, ShowsWhereBoxesAreAndOfWhichClass) {
  const cv::Mat left = plot_labels(with_boxes({{10, 10, 30, 30, 0}})),
                right = plot_labels(with_boxes({{70, 10, 90, 30, 0}})),
                large = plot_labels(with_boxes({{0, 0, 90, 90, 0}})),
                other = plot_labels(with_boxes({{10, 10, 30, 30, 1}}));
  EXPECT_GT(left.cols, 1000);
  for (const cv::Mat& picture : {right, large, other}) {
    ASSERT_EQ(picture.size(), left.size());
    EXPECT_GT(difference(picture, left), 100);
  }
}

TEST(LabelPlot, TakesBoxesAsFractionsOfTheirImages) {
  const cv::Mat square = plot_labels(with_boxes({{10, 10, 30, 30, 0}}));
  Dataset wide = with_boxes({{20, 10, 60, 30, 0}}), tall = with_boxes({{10, 20, 30, 60, 0}});
  wide.images[0].width = tall.images[0].height = 200;
  EXPECT_EQ(difference(plot_labels(wide), square), 0);
  EXPECT_EQ(difference(plot_labels(tall), square), 0);
}

TEST(LabelPlot, CountsYFromTheTopAsInAnImage) {
  const cv::Mat plot = plot_labels(with_boxes({{15, 15, 35, 35, 0}}));
  // Where centres lie is shown in 320 units each way, from (50, 494) on.
  const auto is_counted = [&](double x, double y) {
    const auto pixel = [](double units) { return static_cast<int>(std::lround(units * Canvas::density)); };
    return cv::norm(plot.at<cv::Vec3b>(pixel(494 + 320 * y), pixel(50 + 320 * x)), cv::Vec3b(8, 48, 107)) <
           60;
  };
  EXPECT_TRUE(is_counted(0.25, 0.25));
  EXPECT_FALSE(is_counted(0.25, 0.75));
}

TEST(LabelPlot, LeavesCrowdsOutAndTakesAnyNumberOfBoxesAndClasses) {
  Annotation crowd{10, 10, 30, 30, 0};
  crowd.crowd = true;
  const cv::Mat none = plot_labels(with_boxes({crowd}));
  EXPECT_EQ(difference(none, plot_labels(with_boxes({}))), 0);
  std::vector<Annotation> many;
  for (int i = 0; i < 5000; ++i) {
    const auto at = static_cast<float>(i % 80);
    many.push_back({at, at, at + 20, at + 10, i % 100});
  }
  EXPECT_FALSE(plot_labels(with_boxes(many, 100)).empty());
}

}  // namespace
}  // namespace brightnet
