#include <gtest/gtest.h>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "core/error.h"
#include "data/image/jpeg.h"
#include "tests/data/image_files.h"

namespace brightnet {
namespace {

TEST(JpegEncoding, WritesTheBytesThatOpenCvWrites) {
  const cv::Mat rgb = image_files::gradient(67, 45);
  cv::Mat bgr;
  cv::cvtColor(rgb, bgr, cv::COLOR_RGB2BGR);
  for (const int quality : {60, 92, 95, 100}) {
    std::vector<uchar> expected;
    ASSERT_TRUE(cv::imencode(".jpg", bgr, expected, {cv::IMWRITE_JPEG_QUALITY, quality}));
    EXPECT_EQ(encode_jpeg(rgb, quality), expected) << quality;
  }
}

TEST(JpegEncoding, TakesAPartOfAnImage) {
  const cv::Mat whole = image_files::gradient(64, 48), part = whole(cv::Rect(8, 5, 30, 20));
  EXPECT_EQ(encode_jpeg(part, 90), encode_jpeg(part.clone(), 90));
}

TEST(JpegEncoding, SaysThatJpegHasNoLongerSides) {
  try {
    encode_jpeg(cv::Mat(1, 65501, CV_8UC3, cv::Scalar::all(9)), 90);
    FAIL() << "written";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("65500"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace brightnet
