#include "data/image.h"

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "core/random.h"
#include "data/image_header.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

fs::path temporary(const std::string& name) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const fs::path folder = fs::path(testing::TempDir()) / (std::string("image_") + test->name());
  fs::create_directories(folder);
  return folder / name;
}

fs::path write(const std::string& name, const Bytes& bytes) {
  const fs::path file = temporary(name);
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return file;
}

Bytes encode(const std::string& extension, const cv::Mat& image, const std::vector<int>& options = {}) {
  Bytes bytes;
  EXPECT_TRUE(cv::imencode(extension, image, bytes, options));
  return bytes;
}

// Smooth, so that JPEG keeps it, with no symmetry, so that every rotation and flip is another image. BGR.
cv::Mat gradient(int width, int height) {
  cv::Mat image(height, width, CV_8UC3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      image.at<cv::Vec3b>(y, x) = {static_cast<uint8_t>(40 + 150 * x / width),
                                   static_cast<uint8_t>(30 + 200 * y / height),
                                   static_cast<uint8_t>(220 - 100 * (x + y) / (width + height))};
    }
  }
  return image;
}

cv::Mat rgb(const cv::Mat& bgr) {
  cv::Mat out;
  cv::cvtColor(bgr, out, cv::COLOR_BGR2RGB);
  return out;
}

int largest_difference(const cv::Mat& a, const cv::Mat& b) {
  if (a.size() != b.size() || a.type() != b.type()) return 256;
  return static_cast<int>(cv::norm(a, b, cv::NORM_INF));
}

// An EXIF block with one entry, the orientation.
Bytes exif(int orientation, bool little_endian) {
  const auto o = static_cast<uint8_t>(orientation);
  if (little_endian)
    return {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, o, 0, 0, 0, 0, 0, 0, 0};
  return {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, o, 0, 0, 0, 0, 0, 0};
}

Bytes with_jpeg_segment(Bytes jpeg, uint8_t code, const Bytes& payload) {
  const size_t length = payload.size() + 2;
  Bytes segment{0xFF, code, static_cast<uint8_t>(length >> 8), static_cast<uint8_t>(length)};
  segment.insert(segment.end(), payload.begin(), payload.end());
  jpeg.insert(jpeg.begin() + 2, segment.begin(), segment.end());
  return jpeg;
}

Bytes with_exif(const Bytes& jpeg, int orientation, bool little_endian) {
  Bytes payload{'E', 'x', 'i', 'f', 0, 0};
  const Bytes block = exif(orientation, little_endian);
  payload.insert(payload.end(), block.begin(), block.end());
  return with_jpeg_segment(jpeg, 0xE1, payload);
}

// PNG's checksum (ISO 3309).
uint32_t crc32(const Bytes& bytes) {
  uint32_t crc = ~0U;
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0);
  }
  return ~crc;
}

// The eight orientations by their definition in EXIF 2.3: where the stored row 0 and column 0 are shown.
cv::Mat shown(const cv::Mat& stored, int orientation) {
  const bool transposed = orientation >= 5;
  cv::Mat out(transposed ? stored.cols : stored.rows, transposed ? stored.rows : stored.cols, stored.type());
  for (int r = 0; r < stored.rows; ++r) {
    for (int c = 0; c < stored.cols; ++c) {
      const int bottom = stored.rows - 1 - r, right = stored.cols - 1 - c;
      int y = 0, x = 0;
      switch (orientation) {
        case 1:
          y = r, x = c;
          break;  // row 0 at the top, column 0 on the left
        case 2:
          y = r, x = right;
          break;  // top, right
        case 3:
          y = bottom, x = right;
          break;  // bottom, right
        case 4:
          y = bottom, x = c;
          break;  // bottom, left
        case 5:
          y = c, x = r;
          break;  // row 0 on the left, column 0 at the top
        case 6:
          y = c, x = bottom;
          break;  // right, top
        case 7:
          y = right, x = bottom;
          break;  // right, bottom
        default:
          y = right, x = r;
          break;  // 8: left, bottom
      }
      out.at<cv::Vec3b>(y, x) = stored.at<cv::Vec3b>(r, c);
    }
  }
  return out;
}

ImageError::Kind failure(const fs::path& file) {
  try {
    read_image(file);
  } catch (const ImageError& e) {
    EXPECT_NE(std::string(e.what()).find(file.string()), std::string::npos) << e.what();
    EXPECT_EQ(e.code(), ExitCode::input);
    return e.kind();
  }
  ADD_FAILURE() << file << " was read";
  return {};
}

TEST(Image, JpegIsBitIdenticalToOpenCV) {
  for (const int sampling : {0, 1}) {
    const Bytes bytes = encode(".jpg", gradient(61, 43), {cv::IMWRITE_JPEG_PROGRESSIVE, sampling});
    const fs::path file = write("a.jpg", bytes);
    EXPECT_EQ(largest_difference(read_image(file), rgb(cv::imdecode(bytes, cv::IMREAD_COLOR))), 0);
    EXPECT_EQ(image_size(file), cv::Size(61, 43));
  }
}

TEST(Image, JpegWithEachExifOrientationIsShownUprightByBothByteOrders) {
  const Bytes plain = encode(".jpg", gradient(64, 48));
  const cv::Mat stored = rgb(cv::imdecode(plain, cv::IMREAD_COLOR));
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool little_endian : {true, false}) {
      const fs::path file = write("a.jpg", with_exif(plain, orientation, little_endian));
      const cv::Mat expected = shown(stored, orientation);
      EXPECT_EQ(largest_difference(read_image(file), expected), 0) << orientation;
      EXPECT_EQ(image_size(file), expected.size()) << orientation;
    }
  }
}

TEST(Image, DamagedExifIsIgnored) {
  const Bytes plain = encode(".jpg", gradient(64, 48));
  for (const int nonsense : {0, 9, 255}) {
    EXPECT_EQ(image_size(write("a.jpg", with_exif(plain, nonsense, true))), cv::Size(64, 48));
  }
  const Bytes block = exif(6, true);
  ASSERT_EQ(exif_orientation(block), 6);
  for (size_t length = 0; length < 20; ++length) {  // whatever is cut off, nothing is read past the end
    const Bytes cut(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_EQ(exif_orientation(cut), 1) << length;
  }
  Bytes far = block;
  far[4] = far[5] = far[6] = far[7] = 0xFF;
  EXPECT_EQ(exif_orientation(far), 1);
}

TEST(Image, HeaderBehindALongColourProfileIsFound) {
  Bytes jpeg = with_exif(encode(".jpg", gradient(64, 48)), 6, false);
  for (int i = 0; i < 3; ++i) jpeg = with_jpeg_segment(jpeg, 0xE2, Bytes(60000, 7));
  EXPECT_EQ(image_size(write("a.jpg", jpeg)), cv::Size(48, 64));
}

TEST(Image, SizeComesFromTheHeaderAlone) {
  // Nothing but the header is left of these files, so whoever decodes them fails.
  const Bytes jpeg = encode(".jpg", gradient(64, 48));
  EXPECT_EQ(image_size(write("a.jpg", Bytes(jpeg.begin(), jpeg.begin() + 700))), cv::Size(64, 48));
  const Bytes png = encode(".png", gradient(33, 21));
  EXPECT_EQ(image_size(write("a.png", Bytes(png.begin(), png.begin() + 60))), cv::Size(33, 21));
  const Bytes bmp = encode(".bmp", gradient(33, 21));
  EXPECT_EQ(image_size(write("a.bmp", Bytes(bmp.begin(), bmp.begin() + 60))), cv::Size(33, 21));
  const Bytes lossy = encode(".webp", gradient(35, 22), {cv::IMWRITE_WEBP_QUALITY, 80});
  EXPECT_EQ(image_size(write("a.webp", Bytes(lossy.begin(), lossy.begin() + 60))), cv::Size(35, 22));
  const Bytes lossless = encode(".webp", gradient(36, 23), {cv::IMWRITE_WEBP_QUALITY, 101});
  EXPECT_EQ(image_size(write("b.webp", Bytes(lossless.begin(), lossless.begin() + 60))), cv::Size(36, 23));
}

TEST(Image, PngWithExifIsShownUpright) {
  const cv::Mat stored = gradient(33, 21);
  Bytes png = encode(".png", stored);
  const Bytes block = exif(8, false);
  Bytes chunk{0, 0, 0, static_cast<uint8_t>(block.size()), 'e', 'X', 'I', 'f'};
  chunk.insert(chunk.end(), block.begin(), block.end());
  const uint32_t checksum = crc32({chunk.begin() + 4, chunk.end()});
  for (const int shift : {24, 16, 8, 0}) chunk.push_back(static_cast<uint8_t>(checksum >> shift));
  png.insert(png.begin() + 33, chunk.begin(), chunk.end());
  const fs::path file = write("a.png", png);
  EXPECT_EQ(parse_image_header(png)->orientation, 8);
  EXPECT_EQ(image_size(file), cv::Size(21, 33));
  EXPECT_EQ(largest_difference(read_image(file), shown(rgb(stored), 8)), 0);
}

TEST(Image, WebpWithExifIsShownUpright) {
  const cv::Mat stored = gradient(36, 24);
  const Bytes simple = encode(".webp", stored, {cv::IMWRITE_WEBP_QUALITY, 101});
  Bytes extended{'R', 'I', 'F', 'F', 0, 0, 0, 0, 'W', 'E', 'B', 'P', 'V', 'P', '8',
                 'X', 10,  0,   0,   0, 8, 0, 0, 0,   35,  0,   0,   23,  0,   0};
  extended.insert(extended.end(), simple.begin() + 12, simple.end());
  const Bytes block = exif(6, true);
  extended.insert(extended.end(), {'E', 'X', 'I', 'F', static_cast<uint8_t>(block.size()), 0, 0, 0});
  extended.insert(extended.end(), block.begin(), block.end());
  const size_t riff = extended.size() - 8;
  extended[4] = static_cast<uint8_t>(riff);
  extended[5] = static_cast<uint8_t>(riff >> 8);
  const fs::path file = write("a.webp", extended);
  EXPECT_EQ(image_size(file), cv::Size(24, 36));
  EXPECT_EQ(largest_difference(read_image(file), shown(rgb(stored), 6)), 0);
}

TEST(Image, LosslessFormatsReadExactly) {
  const cv::Mat image = gradient(33, 21);
  for (const char* extension : {".png", ".bmp", ".tif", ".ppm"}) {
    const fs::path file = write(std::string("a") + extension, encode(extension, image));
    EXPECT_EQ(largest_difference(read_image(file), rgb(image)), 0) << extension;
    EXPECT_EQ(image_size(file), cv::Size(33, 21)) << extension;
  }
}

TEST(Image, ContentsDecideNotTheName) {
  const fs::path file = write("really_png.jpg", encode(".png", gradient(33, 21)));
  EXPECT_EQ(largest_difference(read_image(file), rgb(gradient(33, 21))), 0);
  EXPECT_EQ(image_size(file), cv::Size(33, 21));
}

TEST(Image, GreyIsSpreadOverTheChannels) {
  cv::Mat grey(20, 30, CV_8UC1);
  for (int i = 0; i < 600; ++i) grey.data[i] = static_cast<uint8_t>(i / 3);
  for (const char* extension : {".png", ".jpg"}) {
    const Bytes bytes = encode(extension, grey);
    const cv::Mat decoded = read_image(write(std::string("a") + extension, bytes));
    cv::Mat expected;
    cv::cvtColor(cv::imdecode(bytes, cv::IMREAD_GRAYSCALE), expected, cv::COLOR_GRAY2RGB);
    EXPECT_EQ(largest_difference(decoded, expected), 0) << extension;
  }
}

TEST(Image, SixteenBitIsScaledNotCut) {
  for (const char* extension : {".png", ".tif"}) {
    cv::Mat deep(1, 4, CV_16UC3);
    deep.at<cv::Vec3w>(0, 0) = {0, 257, 65535};
    deep.at<cv::Vec3w>(0, 1) = {128, 129, 386};  // a half rounds to the nearest of the 8-bit values
    deep.at<cv::Vec3w>(0, 2) = {25700, 51400, 300};
    deep.at<cv::Vec3w>(0, 3) = {65535, 65535, 65535};
    const cv::Mat read = read_image(write(std::string("a") + extension, encode(extension, deep)));
    ASSERT_EQ(read.type(), CV_8UC3);
    EXPECT_EQ(read.at<cv::Vec3b>(0, 0), cv::Vec3b(255, 1, 0));
    EXPECT_EQ(read.at<cv::Vec3b>(0, 1), cv::Vec3b(2, 1, 0));
    EXPECT_EQ(read.at<cv::Vec3b>(0, 2), cv::Vec3b(1, 200, 100));
    EXPECT_EQ(read.at<cv::Vec3b>(0, 3), cv::Vec3b(255, 255, 255));
  }
}

TEST(Image, AlphaIsBlendedOverBlack) {
  cv::Mat image(1, 3, CV_8UC4);
  image.at<cv::Vec4b>(0, 0) = {10, 20, 200, 255};
  image.at<cv::Vec4b>(0, 1) = {10, 20, 200, 0};
  image.at<cv::Vec4b>(0, 2) = {255, 51, 102, 128};
  const cv::Mat read = read_image(write("a.png", encode(".png", image)));
  EXPECT_EQ(read.at<cv::Vec3b>(0, 0), cv::Vec3b(200, 20, 10));
  EXPECT_EQ(read.at<cv::Vec3b>(0, 1), cv::Vec3b(0, 0, 0));
  EXPECT_EQ(read.at<cv::Vec3b>(0, 2), cv::Vec3b(51, 26, 128));
}

TEST(Image, FloatingPointPixelsAreRefused) {
  const cv::Mat image(4, 4, CV_32FC3, cv::Scalar::all(0.5));
  EXPECT_EQ(failure(write("a.tif", encode(".tif", image))), ImageError::Kind::undecodable);
}

// A 16×8 CMYK JPEG, written with Pillow 12 as Adobe does it, inverted:
//   im = Image.new("CMYK", (16, 8)); left half (0, 255, 255, 0), right half (0, 0, 0, 128)
//   im.save(f, "JPEG", quality=90, optimize=True)
const Bytes cmyk_jpeg{
    0xFF, 0xD8, 0xFF, 0xEE, 0x00, 0x0E, 0x41, 0x64, 0x6F, 0x62, 0x65, 0x00, 0x64, 0x00, 0x00, 0x00, 0x00,
    0x00, 0xFF, 0xDB, 0x00, 0x43, 0x00, 0x03, 0x02, 0x02, 0x03, 0x02, 0x02, 0x03, 0x03, 0x03, 0x03, 0x04,
    0x03, 0x03, 0x04, 0x05, 0x08, 0x05, 0x05, 0x04, 0x04, 0x05, 0x0A, 0x07, 0x07, 0x06, 0x08, 0x0C, 0x0A,
    0x0C, 0x0C, 0x0B, 0x0A, 0x0B, 0x0B, 0x0D, 0x0E, 0x12, 0x10, 0x0D, 0x0E, 0x11, 0x0E, 0x0B, 0x0B, 0x10,
    0x16, 0x10, 0x11, 0x13, 0x14, 0x15, 0x15, 0x15, 0x0C, 0x0F, 0x17, 0x18, 0x16, 0x14, 0x18, 0x12, 0x14,
    0x15, 0x14, 0xFF, 0xC0, 0x00, 0x14, 0x08, 0x00, 0x08, 0x00, 0x10, 0x04, 0x43, 0x11, 0x00, 0x4D, 0x11,
    0x00, 0x59, 0x11, 0x00, 0x4B, 0x11, 0x00, 0xFF, 0xC4, 0x00, 0x16, 0x00, 0x01, 0x01, 0x01, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09, 0x0A, 0x00, 0xFF, 0xC4, 0x00,
    0x14, 0x10, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0xFF, 0xDA, 0x00, 0x0E, 0x04, 0x43, 0x00, 0x4D, 0x00, 0x59, 0x00, 0x4B, 0x00, 0x00, 0x3F,
    0x00, 0x54, 0xC5, 0x50, 0xAA, 0x2A, 0x6C, 0xAA, 0x85, 0x54, 0x0A, 0x97, 0xFF, 0xD9};

TEST(Image, CmykIsConverted) {
  const fs::path file = write("a.jpg", cmyk_jpeg);
  EXPECT_EQ(image_size(file), cv::Size(16, 8));
  const cv::Mat read = read_image(file);
  ASSERT_EQ(read.type(), CV_8UC3);
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 16; ++x) {
      const cv::Vec3b expected = x < 8 ? cv::Vec3b(255, 0, 0) : cv::Vec3b(127, 127, 127);
      EXPECT_LE(cv::norm(read.at<cv::Vec3b>(y, x), expected, cv::NORM_INF), 1) << x << ' ' << y;
    }
  }
}

TEST(Image, JpegIsDecodedSmallerWhenThatIsEnough) {
  const Bytes bytes = with_exif(encode(".jpg", gradient(200, 120)), 6, true);  // shown 120 wide, 200 high
  const fs::path file = write("a.jpg", bytes);
  EXPECT_EQ(read_image(file, {61, 100}).size(), cv::Size(120, 200));
  EXPECT_EQ(read_image(file, {60, 101}).size(), cv::Size(120, 200));
  EXPECT_EQ(read_image(file, {60, 100}).size(), cv::Size(60, 100));
  EXPECT_EQ(read_image(file, {30, 50}).size(), cv::Size(30, 50));
  EXPECT_EQ(read_image(file, {30, 26}).size(), cv::Size(30, 50));
  EXPECT_EQ(read_image(file, {15, 25}).size(), cv::Size(15, 25));
  EXPECT_EQ(read_image(file, {1, 1}).size(), cv::Size(15, 25));
  EXPECT_EQ(read_image(file, {1 << 30, 1 << 30}).size(), cv::Size(120, 200));
  cv::Mat expected;
  cv::resize(read_image(file), expected, {30, 50}, 0, 0, cv::INTER_AREA);
  EXPECT_LE(largest_difference(read_image(file, {30, 50}), expected), 3);
}

TEST(Image, TruncatedJpegIsFoundAtEveryLength) {
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

TEST(Image, BytesAfterTheEndOfAJpegAndALostEndMarkAreHarmless) {
  Bytes bytes = encode(".jpg", gradient(64, 48));
  const cv::Mat whole = rgb(cv::imdecode(bytes, cv::IMREAD_COLOR));
  bytes.insert(bytes.end(), 1000, 0);
  EXPECT_EQ(largest_difference(read_image(write("more.jpg", bytes)), whole), 0);
  bytes.resize(bytes.size() - 1002);
  EXPECT_EQ(largest_difference(read_image(write("less.jpg", bytes)), whole), 0);
}

TEST(Image, TruncatedPngAndWebpAreFound) {
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

TEST(Image, AnyDamageEndsInAnImageOrAnImageError) {
  Random random(3, Purpose::test);
  const auto spoilt = [&](Bytes bytes) {
    for (uint32_t i = random.below(8); i-- > 0;) {
      bytes[random.below(static_cast<uint32_t>(bytes.size()))] = static_cast<uint8_t>(random());
    }
    bytes.resize(bytes.size() - random.below(static_cast<uint32_t>(bytes.size() / 2)));
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

TEST(Image, WhatIsNotAnImageIsNamed) {
  EXPECT_EQ(failure(temporary("nowhere.jpg")), ImageError::Kind::missing);
  EXPECT_EQ(image_size(temporary("nowhere.jpg")), std::nullopt);
  fs::create_directories(temporary("folder.jpg"));
  EXPECT_EQ(failure(temporary("folder.jpg")), ImageError::Kind::missing);
  const fs::path text = write("text.jpg", {'h', 'e', 'l', 'l', 'o'});
  EXPECT_EQ(failure(text), ImageError::Kind::undecodable);
  EXPECT_EQ(image_size(text), std::nullopt);
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

TEST(Image, NamesWithSpacesAndOtherScriptsAreRead) {
  const fs::path folder = temporary("Bilder vom März, 第二");
  fs::create_directories(folder);
  const fs::path file = folder / "größe № 1.JPG";
  const Bytes bytes = encode(".jpg", gradient(64, 48));
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  EXPECT_EQ(read_image(file).size(), cv::Size(64, 48));
  EXPECT_EQ(image_size(file), cv::Size(64, 48));
}

TEST(Image, ImageNamesAreKnownInEitherCase) {
  for (const char* name : {"a.jpg", "a.JPG", "a.b.JpEg", "a.PNG", "a.tiff", "a.TIF", "a.bmp", "a.webp"}) {
    EXPECT_TRUE(is_image_name(name)) << name;
  }
  for (const char* name : {"a.txt", "jpg", "a.jpg.txt", "a", ".jpg", "a.xml"})
    EXPECT_FALSE(is_image_name(name)) << name;
}

}  // namespace
}  // namespace brightnet
