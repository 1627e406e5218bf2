// Files that were cut off or spoilt, and files that are no images.
#include <gtest/gtest.h>

#include "core/random.h"
#include "data/image/header.h"
#include "data/image/read_image.h"
#include "tests/data/image_files.h"

namespace brightnet {
namespace {

using namespace image_files;

TEST(ImageDamage, TruncatedJpegIsFoundAtEveryLength) {
  for (const int progressive : {0, 1}) {
    for (const int restart : {0, 2}) {
      const Bytes whole =
          encode(".jpg", gradient(64, 48),
                 {cv::IMWRITE_JPEG_PROGRESSIVE, progressive, cv::IMWRITE_JPEG_RST_INTERVAL, restart});
      EXPECT_NO_THROW(read_image(write("whole.jpg", whole)));
      EXPECT_TRUE(has_end_mark(write("whole.jpg", whole)));
      for (size_t length = 640; length + 6 < whole.size(); length += 37) {
        const fs::path file =
            write("cut.jpg", Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
        EXPECT_EQ(failure(file), ImageError::Kind::truncated) << length << " of " << whole.size();
        EXPECT_FALSE(has_end_mark(file));
      }
    }
  }
}

TEST(ImageDamage, BytesAfterTheEndOfAJpegAndALostEndMarkAreHarmless) {
  Bytes bytes = encode(".jpg", gradient(64, 48));
  const cv::Mat whole = rgb(cv::imdecode(bytes, cv::IMREAD_COLOR));
  bytes.insert(bytes.end(), 1000, 0);
  EXPECT_EQ(largest_difference(read_image(write("more.jpg", bytes)), whole), 0);
  bytes.resize(bytes.size() - 1002);
  EXPECT_EQ(largest_difference(read_image(write("less.jpg", bytes)), whole), 0);
}

TEST(ImageDamage, TruncatedPngAndWebpAreFound) {
  for (const char* extension : {".png", ".webp"}) {
    Bytes bytes = encode(extension, gradient(64, 48));
    EXPECT_TRUE(has_end_mark(write(std::string("whole") + extension, bytes)));
    bytes.resize(bytes.size() * 2 / 3);
    const fs::path file = write(std::string("cut") + extension, bytes);
    EXPECT_EQ(failure(file), ImageError::Kind::truncated) << extension;
  }
  Bytes bytes = encode(".png", gradient(64, 48));
  bytes.resize(bytes.size() - 3);
  EXPECT_FALSE(has_end_mark(write("cut.png", bytes)));
}

TEST(ImageDamage, OfAWebpTooShortForItOpenCVWritesNothing) {
  Bytes bytes{'R', 'I', 'F', 'F', 22, 0,    0, 0, 'W',  'E', 'B',  'P', 'V', 'P', '8',
              ' ', 10,  0,   0,   0,  0x30, 1, 0, 0x9D, 1,   0x2A, 8,   0,   8,   0};
  ASSERT_EQ(bytes.size(), 30u);
  const fs::path file = write("short.webp", bytes);
  ::testing::internal::CaptureStderr();
  const ImageError::Kind kind = failure(file);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(kind, ImageError::Kind::undecodable);
  bytes[4] = 60;  // it says that there is more
  EXPECT_EQ(failure(write("cut.webp", bytes)), ImageError::Kind::truncated);
}

TEST(ImageDamage, AnyDamageEndsInAnImageOrAnImageError) {
  Random random(3, Purpose::test);
  const auto spoilt = [&](Bytes bytes) {
    for (uint32_t i = random.below(8); i-- > 0;)
      bytes[random.below(bytes.size())] = static_cast<uint8_t>(random());
    bytes.resize(bytes.size() - random.below(bytes.size() / 2));
    return bytes;
  };
  const Bytes jpeg = with_exif(encode(".jpg", gradient(64, 48)), 6, true);
  int decoded = 0;
  for (int i = 0; i < 400; ++i) {
    const fs::path file = write("a.jpg", spoilt(jpeg));
    image_size(file);
    try {
      decoded += !read_image(file).empty();
    } catch (const ImageError&) {
    }
  }
  EXPECT_LT(decoded, 400);
  for (const char* extension :
       {".png", ".bmp", ".webp"}) {  // their headers; the rest is their codecs' business
    const Bytes whole = encode(extension, gradient(64, 48));
    for (int i = 0; i < 400; ++i) {
      Bytes head = spoilt(whole);
      if (head.size() > 64) head.resize(64);
      parse_image_header(head);
    }
  }
}

TEST(ImageDamage, WhatIsNotAnImageIsNamed) {
  EXPECT_EQ(failure(temporary("nowhere.jpg")), ImageError::Kind::missing);
  EXPECT_EQ(image_size(temporary("nowhere.jpg")), std::nullopt);
  fs::create_directories(temporary("folder.jpg"));
  EXPECT_EQ(failure(temporary("folder.jpg")), ImageError::Kind::missing);
  const fs::path text = write("text.jpg", {'h', 'e', 'l', 'l', 'o'});
  EXPECT_EQ(failure(text), ImageError::Kind::undecodable);
  EXPECT_EQ(image_size(text), std::nullopt);
  const auto detail_of = [](const fs::path& file) -> std::string {
    try {
      read_image(file);
      return "";
    } catch (const ImageError& e) {
      return e.detail();
    }
  };
  EXPECT_EQ(detail_of(text), "it is not an image of a kind that can be read");
  for (const char* extension : {".tif", ".ppm", ".bmp"}) {
    Bytes half = encode(extension, gradient(64, 48));
    half.resize(half.size() / 2);
    EXPECT_EQ(detail_of(write(std::string("half") + extension, half)), "its contents are damaged");
  }
  const fs::path empty = write("empty.jpg", {});
  EXPECT_EQ(failure(empty), ImageError::Kind::truncated);
  EXPECT_EQ(image_size(empty), std::nullopt);
  Bytes no_tables = encode(".jpg", gradient(64, 48));
  for (size_t i = 0; i + 1 < no_tables.size(); ++i) {
    if (no_tables[i] == 0xFF && no_tables[i + 1] == 0xDB)
      no_tables[i + 1] = 0xEF;  // quantisation becomes APP15
  }
  EXPECT_EQ(failure(write("tables.jpg", no_tables)), ImageError::Kind::undecodable);
}

}  // namespace
}  // namespace brightnet
