#include "data/drawing/draw.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/error.h"
#include "data/image/read_image.h"

namespace brightnet {
namespace {

cv::Mat gray_image(int width, int height) {
  return {height, width, CV_8UC3, cv::Scalar(128, 128, 128)};
}

bool is_color(const cv::Mat& rgb, int x, int y, const cv::Scalar& color) {
  const cv::Vec3b pixel = rgb.at<cv::Vec3b>(y, x);
  return pixel == cv::Vec3b(cv::saturate_cast<uchar>(color[0]), cv::saturate_cast<uchar>(color[1]),
                            cv::saturate_cast<uchar>(color[2]));
}

int count_color(const cv::Mat& rgb, const cv::Scalar& color) {
  int count = 0;
  for (int y = 0; y < rgb.rows; ++y) {
    for (int x = 0; x < rgb.cols; ++x) count += is_color(rgb, x, y, color);
  }
  return count;
}

TEST(Draw, ClassesThatAreNearHaveColoursFarApart) {
  for (int a = 0; a < 80; ++a) {
    for (int b = a + 1; b < a + 20; ++b)
      EXPECT_GT(cv::norm(class_color(a) - class_color(b)), 60) << a << " " << b;
  }
}

TEST(Draw, AClassHasTheSameColourInEveryPicture) {
  std::vector<cv::Scalar> colors;
  for (int i = 0; i < 80; ++i) colors.push_back(class_color(i));
  for (int i = 79; i >= 0; --i) EXPECT_EQ(class_color(i), colors[static_cast<size_t>(i)]) << i;
  // In those of other runs and versions, too: people know their classes by the colours.
  EXPECT_EQ(class_color(0), cv::Scalar(36, 143, 242));
  EXPECT_EQ(class_color(3), cv::Scalar(255, 0, 255));
  // Beside other classes, in a longer list of names, and as a label.
  cv::Mat alone = gray_image(200, 100), beside = gray_image(200, 100), labelled = gray_image(200, 100);
  draw_detections(alone, std::vector<ScoredBox>{{100, 50, 180, 90, 3, 0.5f}}, {"a", "b", "c", "d"});
  draw_detections(beside, std::vector<ScoredBox>{{100, 50, 180, 90, 3, 0.5f}, {10, 50, 60, 90, 0, 0.9f}},
                  {"a", "b", "c", "d", "e", "f"});
  draw_truths(labelled, std::vector<Truth>{{{0.7f, 0.7f, 0.4f, 0.4f}, 3}}, {"a", "b", "c", "d"});
  for (const cv::Mat& picture : {alone, beside, labelled})
    EXPECT_TRUE(is_color(picture, 100, 70, class_color(3)));
  EXPECT_TRUE(is_color(beside, 10, 70, class_color(0)));
}

TEST(Draw, BoxesLieOnTheirPixels) {
  cv::Mat rgb = gray_image(200, 100);
  draw_detections(rgb, std::vector<ScoredBox>{{100, 50, 180, 90, 1, 0.5f}}, {"a", "b"});
  EXPECT_TRUE(is_color(rgb, 100, 70, class_color(1)));
  EXPECT_TRUE(is_color(rgb, 150, 50, class_color(1)));
  EXPECT_TRUE(is_color(rgb, 150, 70, cv::Scalar(128, 128, 128)));
  EXPECT_TRUE(is_color(rgb, 50, 70, cv::Scalar(128, 128, 128)));

  cv::Mat labelled = gray_image(200, 100);
  draw_truths(labelled, std::vector<Truth>{{{0.7f, 0.7f, 0.4f, 0.4f}, 1}}, {"a", "b"});
  EXPECT_TRUE(is_color(labelled, 100, 70, class_color(1)));
  EXPECT_TRUE(is_color(labelled, 150, 50, class_color(1)));
}

TEST(Draw, TheMostCertainDetectionLiesOverTheOthers) {
  const ScoredBox sure{100, 50, 180, 90, 0, 0.9f}, unsure{100, 50, 180, 90, 1, 0.3f};
  for (const auto& boxes : {std::vector<ScoredBox>{sure, unsure}, {unsure, sure}}) {
    cv::Mat rgb = gray_image(200, 100);
    draw_detections(rgb, boxes, {"a", "b"}, {.labels = false});
    EXPECT_TRUE(is_color(rgb, 100, 70, class_color(0)));
  }
}

/// The bounding box of what differs between two pictures.
cv::Rect change(const cv::Mat& before, const cv::Mat& after) {
  cv::Rect changed;
  for (int y = 0; y < before.rows; ++y) {
    for (int x = 0; x < before.cols; ++x) {
      if (before.at<cv::Vec3b>(y, x) != after.at<cv::Vec3b>(y, x)) changed |= cv::Rect(x, y, 1, 1);
    }
  }
  return changed;
}

/// Where the tag of a box lies: what differs from the box without one.
cv::Rect tag_of(int width, int height, const cv::Rect2d& box) {
  cv::Mat without = gray_image(width, height), with = gray_image(width, height);
  draw_boxes(without, std::vector<DrawnBox>{{box, class_color(0), ""}});
  draw_boxes(with, std::vector<DrawnBox>{{box, class_color(0), "a rather long name"}});
  return change(without, with);
}

TEST(Draw, TagsLieOutsideTheirBoxesAndInTheImage) {
  const cv::Rect2d middle(300, 200, 30, 30),
      boxes[] = {middle, {0, 0, 30, 30}, {600, 0, 38, 30}, {600, 450, 39, 29}, {0, 450, 30, 29}};
  const cv::Size whole = tag_of(640, 480, middle).size();
  for (const cv::Rect2d& box : boxes) {
    const cv::Rect tag = tag_of(640, 480, box);
    EXPECT_NEAR(tag.width, whole.width, 3) << box;
    EXPECT_NEAR(tag.height, whole.height, 3) << box;
    EXPECT_LE((cv::Rect2d(tag) & box).area(), 0.1 * box.area()) << "hides its object: " << box;
  }
  EXPECT_GT(tag_of(40, 30, {5, 5, 20, 20}).area(), 0) << "wider than the image: made smaller";
  // A box that fills the image leaves no place outside.
  EXPECT_GT(tag_of(640, 480, {0, 0, 640, 480}).area(), 0);
}

TEST(Draw, TagsAreTranslucentAndBesideEachOther) {
  cv::Mat rgb(200, 400, CV_8UC3, cv::Scalar(0, 0, 0));
  rgb(cv::Rect(0, 0, 400, 92)).setTo(cv::Scalar(255, 255, 255));
  draw_boxes(rgb, std::vector<DrawnBox>{{{100, 100, 200, 50}, {200, 0, 0}, "a tag over two colours"}});
  // The tag lies above the box, over white: red that the white shows through.
  const cv::Vec3b pixel = rgb.at<cv::Vec3b>(99 - 8, 102);
  EXPECT_GT(pixel[0], 190);
  EXPECT_GT(pixel[1], 40);
  EXPECT_LT(pixel[1], 120);

  // Two boxes whose tags would lie at the same place.
  const std::vector<DrawnBox> two{{{100, 100, 60, 60}, {200, 0, 0}, "one"},
                                  {{100, 100, 60, 60}, {0, 0, 200}, "two"}};
  std::vector<DrawnBox> first = two, second = two, none = two;
  none[0].tag = none[1].tag = first[1].tag = second[0].tag = "";
  const auto drawn = [](const std::vector<DrawnBox>& boxes) {
    cv::Mat picture = gray_image(400, 300);
    draw_boxes(picture, boxes);
    return picture;
  };
  const cv::Mat plain = drawn(none);
  EXPECT_GT((change(plain, drawn(first)) & change(plain, drawn(second))).area(), 0) << "alone they would";
  const cv::Mat both = drawn(two);
  EXPECT_NE(change(plain, both), change(plain, drawn(second)));
  EXPECT_GT(change(plain, both).area(), change(plain, drawn(second)).area());
}

TEST(Draw, NamesAreDrawnInTheirOwnLetters) {
  const auto drawn = [](const std::string& name) {
    cv::Mat rgb = gray_image(320, 240);
    draw_detections(rgb, std::vector<ScoredBox>{{100, 80, 200, 180, 1, 0.5f}}, {"a", name});
    draw_truths(rgb, std::vector<Truth>{{{0.5f, 0.9f, 0.2f, 0.1f}, 1}}, {"a", name});
    return rgb;
  };
  EXPECT_GT(cv::norm(drawn("Käfer"), drawn("Kafer"), cv::NORM_INF), 0);
  EXPECT_GT(cv::norm(drawn("кошка"), drawn("class 1"), cv::NORM_INF), 0);
  EXPECT_EQ(cv::norm(drawn("\U000F1234"), drawn("class 1"), cv::NORM_INF), 0) << "no typeface has it";
}

TEST(Draw, BoxesThatAreNotOnTheImageAreLeftOut) {
  cv::Mat rgb = gray_image(64, 64);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  draw_detections(
      rgb, std::vector<ScoredBox>{{nan, 0, 10, 10, 0, 1}, {100, 100, 200, 200, 0, 1}, {30, 30, 10, 10, 0, 1}},
      {"a"});
  EXPECT_EQ(count_color(rgb, cv::Scalar(128, 128, 128)), 64 * 64);
}

TEST(Draw, OfACrowdTheLastAreDrawnAndTheOthersCounted) {
  std::vector<DrawnBox> boxes;
  for (int i = 0; i < 100'000; ++i)
    boxes.push_back({cv::Rect2d(i % 190, i % 61, 9, 9), class_color(i % 7), "box"});
  cv::Mat all = gray_image(200, 100), last = all.clone();
  draw_boxes(all, boxes);
  draw_boxes(last, std::span(boxes).last(most_drawn_boxes));
  const cv::Rect above(0, 0, 200, 75), corner(0, 80, 200, 20);
  EXPECT_EQ(cv::norm(all(above), last(above), cv::NORM_INF), 0);
  EXPECT_GT(cv::norm(all(corner), last(corner), cv::NORM_INF), 0) << "what says how many more there are";
}

TEST(Draw, LinesGrowWithTheImage) {
  const auto line_width = [](int side) {
    cv::Mat rgb = gray_image(side, side);
    draw_detections(
        rgb, std::vector<ScoredBox>{{side * 0.2f, side * 0.2f, side * 0.8f, side * 0.8f, 0, 0.5f}}, {"a"});
    int width = 0;
    for (int x = side / 10; x < side / 2; ++x) width += is_color(rgb, x, side / 2, class_color(0));
    return width;
  };
  EXPECT_LE(line_width(200), 2);
  EXPECT_GE(line_width(2000), 6);
}

// The line's colour and the edge's differ so much in brightness that one of them is seen on any background.
TEST(Draw, LinesHaveAnEdgeByWhichTheyAreSeenOnAnyBackground) {
  const auto brightness = [](const cv::Vec3b& c) { return 0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2]; };
  for (int class_id = 0; class_id < 20; ++class_id) {
    for (const bool dashed : {false, true}) {
      const cv::Scalar color = class_color(class_id);
      cv::Mat rgb(400, 400, CV_8UC3, color);  // a background of the line's own colour
      draw_boxes(rgb, std::vector<DrawnBox>{{{100, 100, 200, 200}, color, "", dashed}});
      double most = 0;
      for (int x = 90; x < 110; ++x)
        most = std::max(
            most, std::abs(brightness(rgb.at<cv::Vec3b>(200, x)) - brightness(rgb.at<cv::Vec3b>(0, 0))));
      EXPECT_GT(most, 80) << class_id << ' ' << dashed;
    }
  }
}

TEST(Draw, DashedBoxesHaveGapsAndBoldOnesAWiderLine) {
  const auto drawn = [](bool dashed, bool bold) {
    cv::Mat rgb = gray_image(400, 400);
    DrawnBox box{{100, 100, 200, 200}, class_color(0), ""};
    box.dashed = dashed;
    box.bold = bold;
    draw_boxes(rgb, std::vector<DrawnBox>{box});
    return rgb;
  };
  const auto along = [](const cv::Mat& rgb) {
    int colored = 0;
    for (int y = 100; y < 300; ++y) colored += is_color(rgb, 100, y, class_color(0));
    return colored;
  };
  const auto across = [](const cv::Mat& rgb) {
    int colored = 0;
    for (int x = 90; x < 110; ++x) colored += is_color(rgb, x, 200, class_color(0));
    return colored;
  };
  EXPECT_EQ(along(drawn(false, false)), 200);
  EXPECT_GT(along(drawn(true, false)), 60);
  EXPECT_LT(along(drawn(true, false)), 185);
  EXPECT_EQ(across(drawn(false, true)), across(drawn(false, false)) + 1);
}

TEST(Draw, LinesAreThinnerAroundWhatIsSmall) {
  cv::Mat small = gray_image(4000, 3000), large = small.clone();
  draw_boxes(small, std::vector<DrawnBox>{{{1000, 1000, 30, 30}, class_color(0), ""}});
  draw_boxes(large, std::vector<DrawnBox>{{{1000, 1000, 900, 900}, class_color(0), ""}});
  const auto line = [](const cv::Mat& rgb, int y) {
    int width = 0;
    for (int x = 950; x < 1015; ++x) width += is_color(rgb, x, y, class_color(0));
    return width;
  };
  EXPECT_LE(line(small, 1015), 3);
  EXPECT_GE(line(large, 1400), 9);
}

TEST(Draw, AStyleSaysTheWidthOfLinesAndLeavesLabelsOut) {
  const std::vector<ScoredBox> boxes{{100, 100, 300, 300, 0, 0.5f}};
  const auto drawn = [&](const BoxStyle& style) {
    cv::Mat rgb = gray_image(400, 400);
    draw_detections(rgb, boxes, {"a"}, style);
    return rgb;
  };
  int width = 0;
  for (int x = 80; x < 120; ++x) width += is_color(drawn({.line_width = 7}), x, 200, class_color(0));
  EXPECT_EQ(width, 7);
  const cv::Rect changed = change(gray_image(400, 400), drawn({.labels = false}));
  EXPECT_GT(changed.y, 90) << "there is no tag above the box";
  EXPECT_LT(change(gray_image(400, 400), drawn({})).y, 90);
}

TEST(Draw, ACaptionLiesAboveItsPicture) {
  const cv::Mat image = gray_image(200, 100), captioned = with_caption(image, "000_a.jpg: 3 objects");
  EXPECT_EQ(captioned.cols, 200);
  const int height = captioned.rows - 100;
  EXPECT_GT(height, 15);
  EXPECT_EQ(cv::norm(captioned.rowRange(height, captioned.rows), image, cv::NORM_INF), 0);
  double dark = 255;
  cv::minMaxLoc(captioned.rowRange(0, height).reshape(1), &dark);
  EXPECT_LT(dark, 100);
}

TEST(Draw, TilesShowEveryImageAndKeepItsShape) {
  std::vector<cv::Mat> images;
  for (int i = 0; i < 5; ++i) images.emplace_back(i % 2 ? 100 : 200, 200, CV_8UC3, class_color(i));
  const cv::Mat sheet = tile(images, 400);
  EXPECT_LE(std::max(sheet.cols, sheet.rows), 400);
  EXPECT_GE(std::max(sheet.cols, sheet.rows), 380);
  const int cell = sheet.cols / 3;
  for (int i = 0; i < 5; ++i) {
    EXPECT_NEAR(count_color(sheet, class_color(i)), cell * cell / (i % 2 ? 2 : 1), cell * 6) << i;
  }
  // Row by row, from the left.
  for (int i = 0; i < 5; ++i) {
    const int x = sheet.cols * (2 * (i % 3) + 1) / 6, y = sheet.rows * (2 * (i / 3) + 1) / 4;
    EXPECT_TRUE(is_color(sheet, x, y, class_color(i))) << i;
  }
  EXPECT_TRUE(tile({}).empty());
}

TEST(Draw, WrittenImagesAreReadBack) {
  const auto folder = std::filesystem::path(::testing::TempDir());
  cv::Mat rgb(8, 8, CV_8UC3, cv::Scalar(200, 100, 50));
  write_image(folder / "draw_test.png", rgb);
  EXPECT_TRUE(is_color(read_image(folder / "draw_test.png"), 4, 4, cv::Scalar(200, 100, 50)));
  EXPECT_THROW(write_image(folder / "draw_test.xyz", rgb), InputError);
  EXPECT_THROW(write_image(folder / "no such folder" / "a.png", rgb), InputError);
}

}  // namespace
}  // namespace brightnet
