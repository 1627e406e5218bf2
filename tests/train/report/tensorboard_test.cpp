#include "train/report/tensorboard.h"

#include <opencv2/imgcodecs.hpp>

#include "core/error.h"
#include "tests/train/report/event_files.h"

namespace brightnet::testing {
namespace {

std::filesystem::path folder(const std::string& name) {
  const auto path = std::filesystem::path(::testing::TempDir()) / ("tensorboard_" + name);
  std::filesystem::remove_all(path);
  return path;
}

TEST(TensorBoard, ChecksumIsTheStandardsOne) {
  EXPECT_EQ(slow_crc32c("123456789"), 0xE3069283u);  // the check value of CRC-32C (RFC 3720)
}

TEST(TensorBoard, ScalarsAreReadBack) {
  TensorBoardWriter writer(folder("scalars"));
  writer.scalar("loss/box", 0.125f, 300);
  writer.scalar("mAP", -1.5f, 1234567890123);
  writer.flush();
  const std::vector<Fields> events = read_events(writer.file());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].bytes.at(3), "brain.Event:2");
  EXPECT_GT(std::bit_cast<double>(events[0].numbers.at(1)), 1.6e9);
  EXPECT_EQ(events[1].numbers.at(2), 300u);
  EXPECT_EQ(events[2].numbers.at(2), 1234567890123u);
  const Fields value(Fields(events[1].bytes.at(5)).bytes.at(1));
  EXPECT_EQ(value.bytes.at(1), "loss/box");
  EXPECT_EQ(std::bit_cast<float>(static_cast<uint32_t>(value.numbers.at(2))), 0.125f);
}

TEST(TensorBoard, ImagesAreReadBackInTheirColours) {
  cv::Mat rgb(3, 200, CV_8UC3, cv::Scalar(250, 20, 10));
  TensorBoardWriter writer(folder("images"));
  writer.image("val", rgb, 2);
  writer.flush();
  const std::vector<Fields> events = read_events(writer.file());
  ASSERT_EQ(events.size(), 2u);
  const Fields value(Fields(events[1].bytes.at(5)).bytes.at(1));
  const Fields image(value.bytes.at(4));
  EXPECT_EQ(image.numbers.at(1), 3u);
  EXPECT_EQ(image.numbers.at(2), 200u);
  EXPECT_EQ(image.numbers.at(3), 3u);
  const std::string& jpeg = image.bytes.at(4);
  const cv::Mat bgr = cv::imdecode(std::vector<uchar>(jpeg.begin(), jpeg.end()), cv::IMREAD_COLOR);
  const cv::Vec3b pixel = bgr.at<cv::Vec3b>(1, 100), expected(10, 20, 250);
  for (int c = 0; c < 3; ++c) EXPECT_NEAR(pixel[c], expected[c], 4);
}

TEST(TensorBoard, LargeImagesAreMadeSmaller) {
  TensorBoardWriter writer(folder("large"));
  const size_t bytes = writer.image("val", cv::Mat(1000, 3000, CV_8UC3, cv::Scalar(1, 2, 3)), 1);
  writer.flush();
  const Fields image(Fields(Fields(read_events(writer.file())[1].bytes.at(5)).bytes.at(1)).bytes.at(4));
  EXPECT_EQ(image.bytes.at(4).size(), bytes);
  EXPECT_EQ(image.numbers.at(2), 1024u);
  EXPECT_EQ(image.numbers.at(1), 341u);
}

TEST(TensorBoard, TextsAreReadBack) {
  TensorBoardWriter writer(folder("texts"));
  writer.text("configuration", "# a: b", 7);
  writer.flush();
  const std::vector<Fields> events = read_events(writer.file());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].numbers.at(2), 7u);
  const Fields value(Fields(events[1].bytes.at(5)).bytes.at(1));
  EXPECT_EQ(value.bytes.at(1), "configuration");
  EXPECT_EQ(Fields(Fields(value.bytes.at(9)).bytes.at(1)).bytes.at(1), "text") << "the plugin that shows it";
  const Fields tensor(value.bytes.at(8));
  EXPECT_EQ(tensor.numbers.at(1), 7u) << "of strings";
  EXPECT_EQ(Fields(Fields(tensor.bytes.at(2)).bytes.at(2)).numbers.at(1), 1u) << "one of them";
  EXPECT_EQ(tensor.bytes.at(8), "# a: b");
}

TEST(TensorBoard, AResumedRunTakesTheOldPointsFromItsFirstStepOn) {
  const auto path = folder("resume");
  TensorBoardWriter first(path);
  for (const int64_t step : {39, 40, 41, 42}) first.scalar("loss", 1, step);
  first.flush();
  TensorBoardWriter second(path, 41);
  second.scalar("loss", 2, 41);
  second.flush();
  EXPECT_NE(first.file(), second.file());
  EXPECT_EQ(shown_curve(path, "loss"), (std::vector<std::pair<int64_t, float>>{{39, 1}, {40, 1}, {41, 2}}));
}

TEST(TensorBoard, KeepsItsNumbersUntilTheyCanBeWritten) {
  const auto path = folder("file");
  write_atomically(path, "a file where the folder should be");
  TensorBoardWriter writer(path);
  writer.scalar("loss", 1, 1);
  EXPECT_THROW(writer.flush(), InputError);
  writer.scalar("loss", 2, 2);
  writer.image("val", cv::Mat(3, 3, CV_8UC3, cv::Scalar(0, 0, 0)), 2);  // not kept: it is large
  EXPECT_THROW(writer.flush(), InputError);
  std::filesystem::remove(path);
  std::filesystem::create_directories(path);
  writer.flush();
  writer.image("val", cv::Mat(3, 3, CV_8UC3, cv::Scalar(0, 0, 0)), 3);
  writer.flush();
  const std::vector<Fields> events = read_events(writer.file());
  ASSERT_EQ(events.size(), 4u);
  for (const uint64_t step : {1, 2, 3}) EXPECT_EQ(events[step].numbers.at(2), step);
}

}  // namespace
}  // namespace brightnet::testing
