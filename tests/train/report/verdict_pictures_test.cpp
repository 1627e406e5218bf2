#include "train/report/verdict_pictures.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

/// Pixels of nearly this colour in a part of a picture.
int count(const cv::Mat& rgb, const cv::Rect& part, cv::Vec3b color) {
  int found = 0;
  for (int y = part.y; y < part.y + part.height; ++y) {
    for (int x = part.x; x < part.x + part.width; ++x) found += cv::norm(rgb.at<cv::Vec3b>(y, x), color) < 40;
  }
  return found;
}

ImageRecord record_with(std::vector<Annotation> annotations) {
  ImageRecord record;
  record.file = "some/folder/picture_07.jpg";
  record.width = record.height = 200;
  record.annotations = std::move(annotations);
  return record;
}

Annotation truth(float x, float y, int class_id) {
  return {x, y, x + 40, y + 40, class_id, false, false, 1600};
}

TEST(VerdictPictures, EachVerdictHasItsColourBesideTheLabels) {
  const cv::Mat image(200, 200, CV_8UC3, cv::Scalar(128, 128, 128));
  const cv::Vec3b green(30, 160, 90), red(230, 40, 30), orange(240, 140, 0), pink(225, 30, 120);
  const auto colours = [&](const std::vector<ScoredBox>& boxes) {
    const cv::Mat picture = picture_verdicts(image, record_with({truth(20, 80, 0), truth(120, 80, 1)}), boxes,
                                             {}, {"cat", "dog"});
    const int half = picture.cols / 2;
    const cv::Rect right(half, 40, picture.cols - half, picture.rows - 40),
        left(0, 40, half, picture.rows - 40);
    for (const cv::Vec3b& color : {green, red, orange, pink})
      EXPECT_EQ(count(picture, left, color), 0) << "the labels have no verdict";
    std::string seen;
    if (count(picture, right, green) > 200) seen += "correct ";
    if (count(picture, right, red) > 200) seen += "missed ";
    if (count(picture, right, orange) > 200) seen += "wrong ";
    if (count(picture, right, pink) > 200) seen += "false ";
    return seen;
  };
  const ScoredBox cat{20, 80, 60, 120, 0, 0.9f}, dog{120, 80, 160, 120, 1, 0.8f};
  EXPECT_EQ(colours({cat, dog}), "correct ");
  EXPECT_EQ(colours({cat}), "correct missed ");
  EXPECT_EQ(colours({}), "missed ");
  EXPECT_EQ(colours({cat, {120, 80, 160, 120, 0, 0.8f}}), "correct wrong ");
  EXPECT_EQ(colours({cat, dog, {70, 150, 110, 190, 0, 0.8f}}), "correct false ");
}

TEST(VerdictPictures, OfACrowdOfDetectionsTheSurestAreDrawn) {
  const cv::Mat image(200, 200, CV_8UC3, cv::Scalar(128, 128, 128));
  const cv::Vec3b green(30, 160, 90), pink(225, 30, 120);
  // 60 false alarms in the upper half, and a correct box below that is surer, or less sure, than they are.
  const auto picture = [&](float score) {
    std::vector<ScoredBox> boxes;
    for (int i = 0; i < 60; ++i) boxes.push_back({4.f * i / 2, 10, 4.f * i / 2 + 60, 70, 1, 0.5f});
    boxes.push_back({20, 140, 60, 180, 0, score});
    return picture_verdicts(image, record_with({truth(20, 140, 0)}), boxes, {}, {"cat", "dog"});
  };
  const auto green_below = [&](const cv::Mat& drawn) {
    return count(drawn, {drawn.cols / 2, drawn.rows / 2, drawn.cols / 2, drawn.rows / 2}, green);
  };
  EXPECT_GT(green_below(picture(0.9f)), 200);
  EXPECT_EQ(green_below(picture(0.3f)), 0);
  EXPECT_GT(count(picture(0.3f), {picture(0.3f).cols / 2, 40, picture(0.3f).cols / 2, 200}, pink), 200);
}

TEST(VerdictPictures, WhatACrowdHoldsIsNoneOfTheSurest) {
  const cv::Mat image(200, 200, CV_8UC3, cv::Scalar(128, 128, 128));
  Annotation crowd{0, 0, 190, 80, 1, true, false, 15200};
  std::vector<ScoredBox> boxes;
  for (int i = 0; i < 60; ++i) boxes.push_back({2.f * i, 10, 2.f * i + 60, 70, 1, 0.9f});
  boxes.push_back({20, 140, 60, 180, 0, 0.5f});
  const cv::Mat picture =
      picture_verdicts(image, record_with({truth(20, 140, 0), crowd}), boxes, {}, {"cat", "dog"});
  const cv::Vec3b green(30, 160, 90);
  EXPECT_GT(count(picture, {picture.cols / 2, picture.rows / 2, picture.cols / 2, picture.rows / 2}, green),
            200);
  const cv::Mat alone = picture_verdicts(image, record_with({truth(20, 140, 0), crowd}),
                                         std::span(boxes).last(1), {}, {"cat", "dog"});
  EXPECT_EQ(cv::norm(picture, alone, cv::NORM_INF), 0) << "nothing else is drawn or said";
}

TEST(VerdictPictures, TheErrorsAreCountedInWords) {
  const std::vector<Annotation> truths{truth(0, 0, 0), truth(100, 0, 1), truth(0, 100, 0)};
  const auto words = [&](const std::vector<ScoredBox>& boxes) {
    return verdict_words(judge(boxes, truths, {}));
  };
  EXPECT_EQ(words({}), "3 missed");
  EXPECT_EQ(words({{0, 0, 40, 40, 0, 1}, {100, 0, 140, 40, 1, 1}, {0, 100, 40, 140, 0, 1}}), "all correct");
  EXPECT_EQ(words({{0, 0, 40, 40, 0, 1},
                   {0, 0, 40, 38, 0, 1},
                   {100, 0, 140, 40, 0, 1},
                   {150, 150, 190, 190, 0, 1},
                   {100, 150, 140, 190, 0, 1}}),
            "1 missed, 1 wrong class, 2 false alarms, 1 duplicate");
}

TEST(VerdictPictures, ASheetTakesPicturesOfEveryShape) {
  std::vector<cv::Mat> pictures;
  for (const cv::Size size : {cv::Size(640, 480), cv::Size(10, 900), cv::Size(900, 10), cv::Size(1, 1)})
    pictures.push_back(
        picture_verdicts(cv::Mat(size, CV_8UC3, cv::Scalar(9, 9, 9)), record_with({}), {}, {}, {"a"}));
  for (size_t count = 1; count <= pictures.size(); ++count) {
    const cv::Mat sheet = verdict_sheet({pictures.begin(), pictures.begin() + static_cast<long>(count)}, {});
    EXPECT_LE(sheet.cols, 2000);
    EXPECT_GT(sheet.rows, pictures[0].rows);
  }
}

}  // namespace
}  // namespace brightnet
