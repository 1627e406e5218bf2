// Boxes against pixels: an object of a known shape, drawn, transformed and found again by its colour.
#include <algorithm>
#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <opencv2/imgproc.hpp>

#include "data/loader/sample.h"
#include "tests/data/drawn_dataset.h"

namespace brightnet {
namespace {

constexpr int size = 256;

/// Black images, each with one red object near its middle.
Dataset draw_objects(const std::filesystem::path& folder, WarpedBoxes shape) {
  Dataset dataset;
  dataset.classes = {"object"};
  const cv::Size sizes[] = {{300, 200}, {180, 260}, {240, 240}, {1200, 700}, {200, 190}};
  for (const cv::Size image_size : sizes) {
    ImageRecord record;
    record.file = folder / (std::to_string(dataset.images.size()) + ".png");
    record.width = image_size.width;
    record.height = image_size.height;
    const cv::Rect box(image_size.width / 3, image_size.height * 2 / 5, image_size.width / 4,
                       image_size.height / 3);
    cv::Mat image(image_size, CV_8UC3, cv::Scalar::all(0));
    if (shape == WarpedBoxes::corners) {
      image(box).setTo(cv::Scalar(0, 0, 255));  // BGR
    } else {
      for (int y = 0; y < image.rows; ++y) {
        for (int x = 0; x < image.cols; ++x) {
          const double across = (x + 0.5 - box.x) / box.width * 2 - 1,
                       down = (y + 0.5 - box.y) / box.height * 2 - 1;
          if (across * across + down * down <= 1) image.at<cv::Vec3b>(y, x) = cv::Vec3b(0, 0, 255);
        }
      }
    }
    cv::imwrite(record.file.string(), image);
    Annotation object;
    object.x1 = static_cast<float>(box.x);
    object.y1 = static_cast<float>(box.y);
    object.x2 = static_cast<float>(box.br().x);
    object.y2 = static_cast<float>(box.br().y);
    record.annotations = {object};
    dataset.images.push_back(record);
  }
  return dataset;
}

AugmentOptions only(WarpedBoxes shape) {
  AugmentOptions options;
  options.mosaic = options.flip = options.jitter = options.hue = 0;
  options.saturation = options.exposure = 1;
  options.min_visible = 0;
  options.warped_boxes = shape;
  return options;
}

// Half of the object's red; a third where it has corners, since a pixel at a corner shows less of it than one
// at an edge.
cv::Rect red_pixels(const cv::Mat& rgb, WarpedBoxes shape) {
  std::vector<cv::Mat> planes;
  cv::split(rgb, planes);
  return cv::boundingRect(planes[0] - planes[1] > (shape == WarpedBoxes::corners ? 85 : 128));
}

struct Agreement {
  int boxes = 0, lost = 0;
  double worst = 0;
};

/// The farthest that a side of a box is from that of the pixels, over some samples.
Agreement compare(const AugmentOptions& options, WarpedBoxes shape, bool cached = true) {
  const Dataset dataset = draw_objects(test_folder(), shape);
  ImageCache cache(dataset, cached ? 1 << 30 : 0, {});
  SampleMaker maker(dataset, options, cache);
  Agreement agreement;
  cv::Mat rgb(size, size, CV_8UC3);
  std::vector<Truth> truths;
  for (uint64_t i = 0; i < 50; ++i) {
    maker.make({5, 0, i, static_cast<int>(i % dataset.images.size()), false}, size, rgb.data, truths);
    const cv::Rect pixels = red_pixels(rgb, shape);
    // The tip of an object that is cut off is too thin to be found by its colour.
    if (truths.empty()) agreement.lost += pixels.width > 4 && pixels.height > 4;
    if (truths.size() != 1 || truths[0].box.w * size < 4 || truths[0].box.h * size < 4) continue;
    const Box& box = truths[0].box;
    for (const double difference :
         {(box.x - box.w / 2) * size - pixels.x, (box.y - box.h / 2) * size - pixels.y,
          (box.x + box.w / 2) * size - pixels.br().x, (box.y + box.h / 2) * size - pixels.br().y})
      agreement.worst = std::max(agreement.worst, std::abs(difference));
    ++agreement.boxes;
  }
  return agreement;
}

void expect_agreement(const AugmentOptions& options, WarpedBoxes shape, double pixels) {
  const Agreement agreement = compare(options, shape);
  EXPECT_GT(agreement.boxes, 38);
  EXPECT_EQ(agreement.lost, 0) << "objects without a box";
  EXPECT_LE(agreement.worst, pixels);
}

struct Case {
  const char* name;
  void (*set)(AugmentOptions&);
};

class Geometry : public ::testing::TestWithParam<Case> {};

TEST_P(Geometry, BoxesOfRectanglesAreThoseOfTheirPixels) {
  AugmentOptions options = only(WarpedBoxes::corners);
  GetParam().set(options);
  expect_agreement(options, WarpedBoxes::corners, 1.25);
}

TEST_P(Geometry, BoxesOfEllipsesAreThoseOfTheirPixels) {
  AugmentOptions options = only(WarpedBoxes::ellipse);
  GetParam().set(options);
  options.translate =
      std::min(options.translate, 0.1f);  // where an ellipse is cut, its box is that of a rectangle
  options.scale = std::min(options.scale, 0.2f);
  expect_agreement(options, WarpedBoxes::ellipse, 1.25);
}

INSTANTIATE_TEST_SUITE_P(
    Each, Geometry,
    ::testing::Values(Case{"VerticalFlip", [](AugmentOptions& o) { o.vertical_flip = 1; }},
                      Case{"QuarterTurns", [](AugmentOptions& o) { o.quarter_turns = 1; }},
                      Case{"Rotate", [](AugmentOptions& o) { o.rotate = 180; }},
                      Case{"Scale", [](AugmentOptions& o) { o.scale = 0.6f; }},
                      Case{"Translate", [](AugmentOptions& o) { o.translate = 0.4f; }},
                      Case{"Shear", [](AugmentOptions& o) { o.shear = 20; }},
                      Case{"Perspective", [](AugmentOptions& o) { o.perspective = 0.0008f; }},
                      Case{"All",
                           [](AugmentOptions& o) {
                             o.flip = o.vertical_flip = o.quarter_turns = 0.5f;
                             o.jitter = 0.1f;
                             o.rotate = 40;
                             o.scale = 0.3f;
                             o.translate = 0.2f;
                             o.shear = 10;
                             o.perspective = 0.0004f;
                           }},
                      Case{"AllInALetterbox",
                           [](AugmentOptions& o) {
                             o.letterbox = true;
                             o.flip = o.vertical_flip = o.quarter_turns = 0.5f;
                             o.rotate = 180;
                             o.shear = 10;
                             o.perspective = 0.0004f;
                           }}),
    [](const auto& test) { return test.param.name; });

// An image that fills the input, turned back by hand.
TEST(QuarterTurns, GiveTheVeryPixelsOfTheUprightImage) {
  const Dataset dataset = draw_dataset(test_folder(), 1);
  ImageCache cache(dataset, 0, {});
  AugmentOptions options = only(WarpedBoxes::ellipse);
  cv::Mat upright(64, 64, CV_8UC3), turned(64, 64, CV_8UC3), back;
  std::vector<Truth> truths;
  SampleMaker(dataset, options, cache).make({5, 0, 0, 0, false}, 64, upright.data, truths);
  options.quarter_turns = 1;
  SampleMaker maker(dataset, options, cache);
  int found[3] = {};
  for (uint64_t i = 0; i < 20; ++i) {
    maker.make({5, 0, i, 0, false}, 64, turned.data, truths);
    for (const int code : {cv::ROTATE_90_CLOCKWISE, cv::ROTATE_180, cv::ROTATE_90_COUNTERCLOCKWISE}) {
      cv::rotate(turned, back, code);
      found[code] += cv::norm(back, upright, cv::NORM_INF) <= 1;
    }
  }
  EXPECT_EQ(found[0] + found[1] + found[2], 20);
  for (const int count : found) EXPECT_GT(count, 2);
}

// Stripes finer than the input's pixels must become grey, not other stripes.
TEST(Rotation, DoesNotAliasWhereItShrinks) {
  const auto folder = test_folder();
  ImageRecord record;
  record.file = folder / "stripes.png";
  record.width = record.height = 512;
  cv::Mat image(512, 512, CV_8UC3);
  for (int y = 0; y < 512; ++y) image.row(y).setTo(cv::Scalar::all(y % 3 == 0 ? 255 : 0));
  cv::imwrite(record.file.string(), image);
  Dataset dataset;
  dataset.images = {record};
  ImageCache cache(dataset, 0, {});
  AugmentOptions options = only(WarpedBoxes::ellipse);
  options.rotate = 30;
  SampleMaker maker(dataset, options, cache);
  cv::Mat rgb(96, 96, CV_8UC3);
  std::vector<Truth> truths;
  for (uint64_t i = 0; i < 5; ++i) {
    maker.make({5, 0, i, 0, false}, 96, rgb.data, truths);
    cv::Scalar mean, deviation;
    cv::meanStdDev(rgb(cv::Rect(32, 32, 32, 32)), mean, deviation);
    EXPECT_NEAR(mean[0], 85, 2);
    EXPECT_LT(deviation[0], 4);
  }
}

// Of a JPEG that is not in memory only the part that is shown is decoded, at a fraction of its size where
// that is enough.
TEST(WarpedImages, AreTheSameFromAWindowAsFromTheWholeImage) {
  const auto folder = test_folder();
  Dataset dataset;
  cv::RNG noise(7);
  for (const cv::Size image_size : {cv::Size(700, 500), cv::Size(420, 610), cv::Size(97, 130)}) {
    ImageRecord record;
    record.file = folder / (std::to_string(dataset.images.size()) + ".jpg");
    record.width = image_size.width;
    record.height = image_size.height;
    cv::Mat image(image_size, CV_8UC3);
    noise.fill(image, cv::RNG::UNIFORM, 0, 256);
    cv::imwrite(record.file.string(), image);
    dataset.images.push_back(record);
  }
  AugmentOptions options;
  options.jitter = 0.2f;
  options.rotate = 180;
  options.scale = 0.5f;
  options.translate = 0.3f;
  options.shear = 15;
  options.perspective = 0.0005f;
  for (const int at_least : {0, 100}) {
    const cv::Size decoded(at_least, at_least);
    ImageCache none(dataset, 0, decoded), all(dataset, 1 << 30, decoded);
    SampleMaker fresh(dataset, options, none), cached(dataset, options, all);
    std::vector<uint8_t> pixels(3 * 96 * 96), expected(pixels.size());
    std::vector<Truth> truths;
    for (uint64_t i = 0; i < 16; ++i) {
      fresh.make({5, 0, i, static_cast<int>(i % 3), i % 2 == 0}, 96, pixels.data(), truths);
      cached.make({5, 0, i, static_cast<int>(i % 3), i % 2 == 0}, 96, expected.data(), truths);
      EXPECT_TRUE(pixels == expected) << "sample " << i;
    }
    EXPECT_EQ(none.hits(), 0u);
  }
}

TEST(WarpedImages, DecodeNothingBelowWhatTheyShow) {
  Dataset dataset;
  ImageRecord record;
  record.file = test_folder() / "lower_half_lost.jpg";
  record.width = 128;
  record.height = 1024;
  cv::Mat image(record.height, record.width, CV_8UC3);
  cv::RNG noise(7);
  noise.fill(image, cv::RNG::UNIFORM, 0, 256);
  std::vector<uint8_t> bytes;
  cv::imencode(".jpg", image, bytes);
  bytes.resize(bytes.size() / 2);
  bytes.insert(bytes.end(), {0xFF, 0xD9});  // with its end mark only decoding shows what is missing
  std::ofstream(record.file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  dataset.images.push_back(record);
  ImageCache cache(dataset, 0, {});
  Painter painter(dataset, cache);
  std::vector<uint8_t> pixels(3 * 64 * 64);
  const PixelBlock out = dense_block(pixels.data(), 64, 64, 3);
  const auto show = [&](double row) {
    const PlacedImage placed{.image = 0,
                             .map = Homography(1, 0.1, -0.1 * row, -0.1, 1, -row, 0, 0, 1),
                             .part = {0, 0, 64, 64},
                             .seen = {0, 0, 64, 64}};
    painter.paint(placed, painter.read(placed), out);
  };
  EXPECT_NO_THROW(show(100));
  EXPECT_THROW(show(900), InputError);
}

}  // namespace
}  // namespace brightnet
