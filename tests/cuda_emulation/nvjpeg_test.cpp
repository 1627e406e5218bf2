// What a real nvJPEG cannot be made to do on purpose.
#include "tests/cuda_emulation/nvjpeg.h"

#include "data/image/window.h"
#include "tests/data/encoded_jpeg.h"
#include "tests/data/image_files.h"
#include "tests/kernels/device.h"
#include "tests/logged.h"

namespace brightnet::testing {
namespace {

TEST(EmulatedNvjpeg, RefusesAFileWithItsReasonAndDecodesTheNext) {
  const auto decoder = device().make_jpeg_decoder(1);
  const cv::Mat image = smooth_image({40, 30});
  cv::Mat pixels(image.size(), CV_8UC3);
  const JpegPart part{40, 30, 3, 0, 0, 40, 30};
  const auto refused = encoded_jpeg(image, {.comment = std::string(emulation::refused_by_nvjpeg)});
  const Logged log;
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(decoder->decode(refused, part, pixels.ptr()));
  const std::string& said = log.text();
  EXPECT_NE(said.find("nvJPEG does not decode an image of 40 × 30 pixels: it does not support this kind"),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find("nvJPEG", said.find("reported once")), std::string::npos) << "said once: " << said;
  const auto file = encoded_jpeg(image);
  ASSERT_TRUE(decoder->decode(file, part, pixels.ptr()));
  EXPECT_EQ(cv::norm(pixels, decode_jpeg(file, 1).image, cv::NORM_INF), 0);
}

TEST(EmulatedNvjpeg, SaysThatTheHardwareFailsAndDecodesWithoutIt) {
  const auto decoder = device().make_jpeg_decoder(1);
  const cv::Mat image = smooth_image({40, 30});
  const auto file = encoded_jpeg(image, {.comment = std::string(emulation::fails_in_hardware)});
  cv::Mat pixels(image.size(), CV_8UC3);
  const Logged log;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(decoder->decode(file, {40, 30, 3, 0, 0, 40, 30}, pixels.ptr()));
  EXPECT_EQ(cv::norm(pixels, decode_jpeg(file, 1).image, cv::NORM_INF), 0);
  EXPECT_NE(log.text().find("The card's JPEG decoder fails on a file"), std::string::npos) << log.text();
  EXPECT_NE(log.text().find("its status is 6"), std::string::npos) << log.text();
}

TEST(EmulatedNvjpeg, NamesTheFileThatItFailsOn) {
  const auto decoder = device().make_jpeg_decoder(1);
  const cv::Mat image = smooth_image({40, 30});
  const std::string name = image_files::write(
      "fails.jpg", encoded_jpeg(image, {.comment = std::string(emulation::fails_in_nvjpeg)}));
  const Logged log;
  std::atomic<bool> known = false;
  const DeviceDecoding decoding{decoder.get(), &known};
  try {
    read_image_window(name, {}, cv::Rect2d(0, 0, 1, 1), 3, decoding);
    ADD_FAILURE() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("nvJPEG could not decode the file: its status is 6"),
              std::string::npos)
        << error.what();
  }
}

TEST(EmulatedNvjpeg, DecodesWithoutHardwareToo) {
  const cv::Mat image = smooth_image({40, 30});
  for (const bool hardware : {true, false}) {
    emulation::jpeg_hardware = hardware;
    const auto decoder = device().make_jpeg_decoder(1);
    for (const bool progressive :
         {false, true, false}) {  // the hardware refuses the second, and must begin anew
      const auto file = encoded_jpeg(image, {.progressive = progressive});
      cv::Mat pixels(image.size(), CV_8UC3);
      ASSERT_TRUE(decoder->decode(file, {40, 30, 3, 0, 0, 40, 30}, pixels.ptr()));
      EXPECT_EQ(cv::norm(pixels, decode_jpeg(file, 1).image, cv::NORM_INF), 0);
    }
  }
  emulation::jpeg_hardware = true;
}

}  // namespace
}  // namespace brightnet::testing
