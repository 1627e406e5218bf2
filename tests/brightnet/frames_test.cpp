#include "brightnet/frames.h"

#include <gtest/gtest.h>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "brightnet/error.h"
#include "core/files.h"
#include "data/image/codecs.h"
#include "tests/logged.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class FramesOf : public ::testing::Test {
 protected:
  std::vector<Picture> all(const fs::path& source, const FrameOptions& options = {}) const {
    Frames frames(weights_, source.string(), options);
    std::vector<Picture> found;
    for (Picture picture = frames.next(); picture.pixels; picture = frames.next()) found.push_back(picture);
    return found;
  }
  fs::path images() const { return run_.folder() / "data/images/val"; }
  fs::path image() const { return fs::directory_iterator(images())->path(); }

  SmallRun run_;
  Weights weights_ = Weights::open(write_small_weights(run_));
};

TEST_F(FramesOf, AnImageIsDecodedToRgb) {
  Frames frames(weights_, image().string());
  EXPECT_TRUE(frames.is_image());
  EXPECT_FALSE(frames.live());
  const Picture picture = frames.next();
  EXPECT_EQ(picture.file, image().string());
  EXPECT_EQ(picture.number, -1);
  cv::Mat expected;
  cv::cvtColor(cv::imread(image().string()), expected, cv::COLOR_BGR2RGB);
  ASSERT_EQ(picture.height, expected.rows);
  ASSERT_EQ(picture.width, expected.cols);
  EXPECT_TRUE(std::equal(expected.datastart, expected.dataend, picture.pixels.get()));
  EXPECT_FALSE(frames.next().pixels);
}

TEST_F(FramesOf, PicturesOutliveTheirSource) {
  const std::vector<Picture> pictures = all(images());
  ASSERT_EQ(pictures.size(), 4u);
  for (const Picture& picture : pictures) {
    cv::Mat expected;
    cv::cvtColor(cv::imread(picture.file), expected, cv::COLOR_BGR2RGB);
    EXPECT_TRUE(std::equal(expected.datastart, expected.dataend, picture.pixels.get())) << picture.file;
  }
}

TEST_F(FramesOf, AVideoHasItsFramesAsRgbWithTheirNumbers) {
  const fs::path file = run_.folder() / "red.avi";
  const auto writer = make_video_writer();
  ASSERT_TRUE(writer->open(file.string(), codec_code("MJPG"), 10, {64, 48}));
  for (int i = 0; i < 6; ++i) writer->write(cv::Mat(48, 64, CV_8UC3, cv::Scalar(0, 0, 200)));
  writer->release();
  EXPECT_FALSE(Frames(weights_, file.string()).is_image());
  const std::vector<Picture> every_other = all(file, {.every = 2});
  ASSERT_EQ(every_other.size(), 3u);
  EXPECT_EQ(every_other[2].number, 4);
  EXPECT_GT(every_other[2].pixels.get()[0], 180) << "red comes first";
  EXPECT_LT(every_other[2].pixels.get()[2], 20);
  EXPECT_EQ(all(file, {.frames = 2}).size(), 2u);
  EXPECT_THROW(all(file, {.every = 0}), InputError);
  EXPECT_THROW(all(file, {.frames = -1}), InputError);
}

TEST_F(FramesOf, OptionsOfVideosAreRefusedWhereThereIsNone) {
  for (const fs::path& source : {image(), images()}) {
    EXPECT_THROW(all(source, {.frames = 3}), InputError) << source;
    EXPECT_THROW(all(source, {.every = 2}), InputError) << source;
  }
}

TEST_F(FramesOf, WhatCannotBeReadIsSkippedOrRefused) {
  const fs::path folder = run_.folder() / "some";
  fs::create_directories(folder);
  fs::copy(image(), folder / "good.jpg");
  write_atomically(folder / "broken.jpg", std::string("no image"));
  {
    const Logged logged;
    EXPECT_EQ(all(folder).size(), 1u);
    EXPECT_NE(logged.text().find("broken.jpg"), std::string::npos) << logged.text();
  }
  EXPECT_THROW(all(folder / "broken.jpg"), InputError);
  EXPECT_THROW(all(folder / "nothing.jpg"), InputError);
}

TEST_F(FramesOf, OneImageInAFolderAPatternOrAListIsNotAnImageByItself) {
  const fs::path folder = run_.folder() / "one", list = run_.folder() / "list.txt";
  fs::create_directories(folder);
  fs::copy(image(), folder / "a.jpg");
  write_atomically(list, (folder / "a.jpg").string() + '\n');
  const std::vector<fs::path> sources{folder, folder / "*.jpg", list};
  for (const fs::path& source : sources) {
    EXPECT_FALSE(Frames(weights_, source.string()).is_image()) << source;
    EXPECT_EQ(all(source).size(), 1u) << source;
  }
  EXPECT_TRUE(Frames(weights_, (folder / "a.jpg").string()).is_image());
  write_atomically(folder / "a.jpg", std::string("no image"));
  for (const fs::path& source : sources) {
    const Logged logged;
    EXPECT_NO_THROW(EXPECT_EQ(all(source).size(), 0u)) << source;
    EXPECT_NE(logged.text().find("a.jpg"), std::string::npos) << logged.text();
  }
}

TEST_F(FramesOf, ObjectsAreDrawnOnACopy) {
  const Picture picture = all(image())[0];
  const std::vector<uint8_t> before(picture.pixels.get(),
                                    picture.pixels.get() + picture.height * picture.width * 3);
  const std::vector<DetectedObject> objects{{10, 10, 40, 40, 1, 0.5f}};
  const Picture drawn = draw_objects(picture.image(), objects, weights_.classes());
  ASSERT_EQ(drawn.height, picture.height);
  EXPECT_FALSE(std::equal(before.begin(), before.end(), drawn.pixels.get()));
  EXPECT_TRUE(std::equal(before.begin(), before.end(), picture.pixels.get()));
  const std::vector<DetectedObject> nameless{{10, 10, 40, 40, 7, 0.5f}};
  EXPECT_THROW(draw_objects(picture.image(), nameless, weights_.classes()), InputError);
}

TEST_F(FramesOf, APngHasThePixelsOfAnyImage) {
  const std::vector<uint8_t> pixels{255, 0, 0, 0, 0, 255};
  const auto decoded = [](const std::vector<uint8_t>& bytes) {
    return cv::imdecode(bytes, cv::IMREAD_COLOR);
  };
  const cv::Mat rgb = decoded(encode_png({.pixels = pixels.data(), .height = 1, .width = 2}));
  EXPECT_EQ(rgb.at<cv::Vec3b>(0, 0), cv::Vec3b(0, 0, 255));
  const cv::Mat bgr = decoded(encode_png({.pixels = pixels.data(), .height = 1, .width = 2, .bgr = true}));
  EXPECT_EQ(bgr.at<cv::Vec3b>(0, 0), cv::Vec3b(255, 0, 0));
  const cv::Mat grey = decoded(encode_png({.pixels = pixels.data(), .height = 2, .width = 3, .channels = 1}));
  EXPECT_EQ(grey.at<cv::Vec3b>(1, 2), cv::Vec3b(255, 255, 255));
  EXPECT_THROW(encode_png({}), InputError);
}

TEST_F(FramesOf, AnImageOfMorePixelsThanAreAllowedIsNotDecoded) {
  EXPECT_THROW(all(image(), {.max_pixels = 64 * 64 - 1}), InputError);
  EXPECT_EQ(all(image(), {.max_pixels = 64 * 64}).size(), 1u);
}

TEST_F(FramesOf, ABoxIsDrawnWhereItIs) {
  const std::vector<uint8_t> black(size_t{200} * 300 * 3);
  const std::vector<DetectedObject> objects{{20, 150, 280, 180, 0, 0.5f}};
  const Picture drawn =
      draw_objects({.pixels = black.data(), .height = 200, .width = 300}, objects, weights_.classes());
  ASSERT_EQ(drawn.width, 300);
  // Or a pixel or two beside it.
  const auto is_painted = [&](int x, int y) {
    int sum = 0;
    for (int row = y - 2; row <= y + 2; ++row) {
      for (int column = 3 * (x - 2); column < 3 * (x + 3); ++column)
        sum += drawn.pixels.get()[row * 900 + column];
    }
    return sum > 0;
  };
  for (const auto& [x, y] : {std::pair(200, 180), {20, 165}, {280, 165}}) EXPECT_TRUE(is_painted(x, y)) << x;
  for (const auto& [x, y] : {std::pair(150, 20), {150, 100}, {200, 165}, {290, 190}})
    EXPECT_FALSE(is_painted(x, y)) << x;
}

}  // namespace
}  // namespace brightnet::testing
