#include "data/image/read_image.h"

#include <gtest/gtest.h>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "data/image/grey.h"
#include "data/image/jpeg.h"
#include "tests/data/dataset_files.h"
#include "tests/data/image_files.h"

namespace brightnet {
namespace {

using namespace image_files;

TEST(Image, JpegIsBitIdenticalToOpenCV) {
  for (const int sampling : {0, 1}) {
    const Bytes bytes = encode(".jpg", gradient(61, 43), {cv::IMWRITE_JPEG_PROGRESSIVE, sampling});
    const fs::path file = write("a.jpg", bytes);
    EXPECT_EQ(largest_difference(read_image(file), rgb(cv::imdecode(bytes, cv::IMREAD_COLOR))), 0);
    EXPECT_EQ(image_size(file), cv::Size(61, 43));
  }
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

// For a network with one channel: what a grey file has in three is in one, to the bit. A coloured file's is its luma.
TEST(Image, GreyIsReadAsOneChannel) {
  cv::Mat grey, color = gradient(64, 48), deep(20, 30, CV_16UC1), alpha;
  cv::cvtColor(color, grey, cv::COLOR_BGR2GRAY);
  for (int i = 0; i < 600; ++i) deep.at<uint16_t>(i / 30, i % 30) = static_cast<uint16_t>(1000 + 5 * i);
  cv::cvtColor(color, alpha, cv::COLOR_BGR2BGRA);
  const struct {
    const char* name;
    cv::Mat image;
    int tolerance;  // of a JPEG's own luma, which is rounded before it becomes colours
  } cases[] = {{"grey.png", grey, 0},  {"grey.jpg", grey, 0},   {"deep.png", deep, 0},
               {"deep.tif", deep, 0},  {"color.png", color, 0}, {"color.jpg", color, 2},
               {"alpha.png", alpha, 0}};
  for (const auto& [name, image, tolerance] : cases) {
    const fs::path file = write(name, encode(fs::path(name).extension().string().c_str(), image));
    const cv::Mat one = read_image(file, {}, 1);
    ASSERT_EQ(one.type(), CV_8UC1) << name;
    EXPECT_LE(largest_difference(one, grey_of(read_image(file))), tolerance) << name;
  }
  const fs::path four_inks = write("a.jpg", cmyk_jpeg);
  EXPECT_EQ(largest_difference(read_image(four_inks, {}, 1), grey_of(read_image(four_inks))), 0);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const cv::Mat turned = upright(read_image(write("a.png", encode(".png", grey)), {}, 1), orientation);
    EXPECT_EQ(turned.type(), CV_8UC1) << orientation;
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

void add(Bytes& bytes, uint32_t number, int count) {
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<uint8_t>(number >> 8 * i));
}

/// One pixel of four channels, each `bits` wide, as a TIFF with these ExtraSamples, or without any if negative.
Bytes tiff_of_four(const std::vector<uint32_t>& pixel, int bits, int extra_samples) {
  struct Entry {
    uint32_t tag, type, count, value;
  };
  const uint32_t bytes_of_pixel = static_cast<uint32_t>(bits) / 2;
  std::vector<Entry> entries{{256, 3, 1, 1}, {257, 3, 1, 1}, {258, 3, 4, 16},
                             {259, 3, 1, 1}, {262, 3, 1, 2}, {273, 4, 1, 8},
                             {277, 3, 1, 4}, {278, 3, 1, 1}, {279, 4, 1, bytes_of_pixel},
                             {284, 3, 1, 1}};
  if (extra_samples >= 0) entries.push_back({338, 3, 1, static_cast<uint32_t>(extra_samples)});
  Bytes bytes{'I', 'I', 42, 0, 24, 0, 0, 0};
  for (const uint32_t value : pixel) add(bytes, value, bits / 8);
  bytes.resize(16);
  for (int i = 0; i < 4; ++i) add(bytes, static_cast<uint32_t>(bits), 2);
  add(bytes, static_cast<uint32_t>(entries.size()), 2);
  for (const auto& [tag, type, count, value] : entries) {
    add(bytes, tag, 2);
    add(bytes, type, 2);
    add(bytes, count, 4);
    add(bytes, value, 4);
  }
  add(bytes, 0, 4);
  return bytes;
}

// ExtraSamples 0: no alpha, such as the infrared of an aerial picture; 1: alpha that the colours have been multiplied by;
// 2: alpha that they have not. Without the tag it is what OpenCV writes, 2.
TEST(Image, AFourthChannelOfTiffIsAlphaWhereTheFileSaysSo) {
  const cv::Vec3b stored(200, 100, 50), blended(100, 50, 25);
  for (const auto& [extra_samples, expected] :
       {std::pair(0, stored), {1, stored}, {2, blended}, {-1, blended}}) {
    for (const int bits : {8, 16}) {
      const uint32_t one = bits == 16 ? 257 : 1;
      const Bytes bytes = tiff_of_four({200 * one, 100 * one, 50 * one, 128 * one}, bits, extra_samples);
      const cv::Mat read = read_image(write("a.tif", bytes));
      EXPECT_EQ(read.at<cv::Vec3b>(0, 0), expected) << extra_samples << ", " << bits << " bits";
    }
  }
}

/// One pixel as a BMP of 32 bits and masks for its colours; in a header of 108 bytes also one for alpha.
Bytes bmp_with_masks(const cv::Vec4b& bgra, uint32_t header, uint32_t alpha_mask) {
  Bytes bytes{'B', 'M'};
  const uint32_t pixels_at = 14 + std::max<uint32_t>(header, 40 + 12);
  for (const uint32_t number : {pixels_at + 4, 0u, pixels_at, header, 1u, 1u}) add(bytes, number, 4);
  add(bytes, 1, 2);
  add(bytes, 32, 2);
  for (const uint32_t number : {3u, 4u, 0u, 0u, 0u, 0u, 0xFF0000u, 0xFF00u, 0xFFu}) add(bytes, number, 4);
  if (header > 40) add(bytes, alpha_mask, 4);
  bytes.resize(pixels_at);
  for (int c = 0; c < 4; ++c) bytes.push_back(bgra[c]);
  return bytes;
}

TEST(Image, TheFourthByteOfABmpWithoutAMaskForItIsNoAlpha) {
  const cv::Vec4b pixel(50, 100, 200, 0);
  const cv::Vec3b opaque(200, 100, 50);
  EXPECT_EQ(read_image(write("a.bmp", bmp_with_masks(pixel, 40, 0))).at<cv::Vec3b>(0, 0), opaque);
  EXPECT_EQ(read_image(write("a.bmp", bmp_with_masks(pixel, 108, 0))).at<cv::Vec3b>(0, 0), opaque);
  EXPECT_EQ(read_image(write("a.bmp", bmp_with_masks(pixel, 108, 0xFF000000))).at<cv::Vec3b>(0, 0),
            cv::Vec3b(0, 0, 0));
}

TEST(Image, FloatingPointPixelsAreRefused) {
  const cv::Mat image(4, 4, CV_32FC3, cv::Scalar::all(0.5));
  EXPECT_EQ(failure(write("a.tif", encode(".tif", image))), ImageError::Kind::undecodable);
}

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

TEST(Image, OfAFormatThatThisOpenCvDoesNotReadNamesAConverter) {
  const DatasetFolder data;
  data.text("a.heic", std::string("\0\0\0\x18"
                                  "ftypheic\0\0\0\0mif1",
                                  20));
  EXPECT_FALSE(is_image_name("a.HEIC"));
  try {
    read_image(data.root() / "a.heic");
    FAIL();
  } catch (const ImageError& e) {
    EXPECT_EQ(e.kind(), ImageError::Kind::undecodable);
    EXPECT_TRUE(
        contains(e.what(), "as it was built does not read HEIC: convert it, for example with heif-convert"));
  }
  // What reads a GIF reads its name too; what does not says so.
  data.text("a.gif", std::string("GIF89a\x01\0\x01\0\x80\0\0\xff\0\0\0\0\xff,\0\0\0\0\x01\0\x01\0\0\x02\x02"
                                 "D\x01\0;",
                                 35));
  if (is_image_name("a.gif")) {
    EXPECT_EQ(read_image(data.root() / "a.gif").size(), cv::Size(1, 1));
  } else {
    EXPECT_TRUE(contains(image_conversion("a.gif"), "ffmpeg -i FILE.gif"));
    EXPECT_THROW(read_image(data.root() / "a.gif"), ImageError);
  }
}

// Newer versions of OpenCV read the first frame, and older ones nothing.
TEST(Image, AnAnimatedWebpIsItsFirstFrameOrSaysWhatItIs) {
  const Bytes still = encode(".webp", gradient(36, 24), {cv::IMWRITE_WEBP_QUALITY, 101});
  const fs::path file = write("moving.webp", animated_webp(still, {36, 24}));
  EXPECT_EQ(image_size(file), cv::Size(36, 24));
  EXPECT_FALSE(has_end_mark(file)) << "reading a data set must decode it to know";
  EXPECT_TRUE(has_end_mark(write("still.webp", still)));
  try {
    EXPECT_EQ(read_image(file).size(), cv::Size(36, 24));
  } catch (const ImageError& e) {
    EXPECT_EQ(e.kind(), ImageError::Kind::undecodable);
    EXPECT_TRUE(contains(e.what(), "it is an animated WebP, and OpenCV ")) << e.what();
  }
}

TEST(Image, ImageNamesAreKnownInEitherCase) {
  for (const char* name : {"a.jpg", "a.JPG", "a.b.JpEg", "a.PNG", "a.tiff", "a.TIF", "a.bmp", "a.webp"})
    EXPECT_TRUE(is_image_name(name)) << name;
  for (const char* name : {"a.jpeg", "a.jpe", "a.JFIF", "a.dib", "a.ppm", "a.pgm", "a.pnm", "a.jp2"})
    EXPECT_TRUE(is_image_name(name)) << name << ", which fewer programs write";
  for (const char* name : {"a.txt", "jpg", "a.jpg.txt", "a", ".jpg", "a.xml"})
    EXPECT_FALSE(is_image_name(name)) << name;
}

/// Writes the values as one row of 16-bit grey and reads it back as 8 bits.
std::vector<int> read_grey16(const std::vector<uint16_t>& values, const char* extension) {
  const auto file = std::filesystem::path(::testing::TempDir()) / (std::string("grey16") + extension);
  cv::imwrite(file.string(),
              cv::Mat(1, static_cast<int>(values.size()), CV_16UC1, const_cast<uint16_t*>(values.data())));
  const cv::Mat image = read_image(file);
  EXPECT_EQ(image.type(), CV_8UC3);
  std::vector<int> read;
  for (int x = 0; x < image.cols; ++x) {
    const auto& pixel = image.at<cv::Vec3b>(0, x);
    EXPECT_EQ(pixel[0], pixel[1]);
    EXPECT_EQ(pixel[0], pixel[2]);
    read.push_back(pixel[0]);
  }
  return read;
}

// docs/data.md states the rule: the range between the darkest and the brightest thousandth becomes 0 to 255.
TEST(ReadImage, SixteenBitGreyIsScaledByItsOwnRange) {
  for (const char* extension : {".png", ".tiff"}) {
    EXPECT_EQ(read_grey16({0, 65535, 32768, 257}, extension), (std::vector<int>{0, 255, 128, 1}));
    EXPECT_EQ(read_grey16({1000, 5095, 3048, 2024}, extension), (std::vector<int>{0, 255, 128, 64}))
        << "12 bits; by the upper 8 of 16 this would be 3, 19, 11, 7";
    EXPECT_EQ(read_grey16({100, 110, 355}, extension), (std::vector<int>{0, 10, 255}));
    EXPECT_EQ(read_grey16({100, 110, 120}, extension), (std::vector<int>{0, 10, 20}))
        << "one level is at most one";
    EXPECT_EQ(read_grey16({777, 777}, extension), (std::vector<int>{0, 0}));
    // Two hot pixels and a dead one of 4000 decide nothing.
    std::vector<uint16_t> values(4000);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint16_t>(2000 + i / 4 % 1000);
    values[1] = values[2] = 65535;
    values[3] = 0;
    const std::vector<int> read = read_grey16(values, extension);
    EXPECT_EQ(read[1], 255);
    EXPECT_EQ(read[3], 0);
    EXPECT_NEAR(read[2000], 255 / 2, 1);
  }
}

// Sides are rounded up: of 3329 pixels at an eighth, the last of 417 shows one pixel of the image and seven beyond.
TEST(ReadImage, AReducedJpegIsNotStretchedByMoreThanHalfAPixel) {
  EXPECT_EQ(jpeg_reduction({3328, 3328}, {416, 416}), 8);
  EXPECT_EQ(jpeg_reduction({3332, 3328}, {416, 416}), 8);
  EXPECT_EQ(jpeg_reduction({3331, 3328}, {416, 416}), 4);
  EXPECT_EQ(jpeg_reduction({3328, 3329}, {416, 416}), 4);
  EXPECT_EQ(jpeg_reduction({5825, 5825}, {416, 416}), 8) << "of which half a pixel of the input has more";
  for (int side = 64; side < 600; ++side) {
    for (int least = 32; least < side; ++least) {
      const int reduction = jpeg_reduction({side, side}, {least, least});
      const double decoded = (side + reduction - 1) / reduction;
      ASSERT_LE((decoded - static_cast<double>(side) / reduction) * least / decoded, 0.5)
          << side << ' ' << least;
    }
  }
}

Bytes pnm(const std::string& header, const Bytes& pixels) {
  Bytes bytes(header.begin(), header.end());
  bytes.insert(bytes.end(), pixels.begin(), pixels.end());
  return bytes;
}

TEST(ReadImage, APnmsLargestValueIsFullBrightness) {
  const auto pixel = [](const Bytes& bytes) { return read_image(write("a.pnm", bytes)).at<cv::Vec3b>(0, 0); };
  EXPECT_EQ(pixel(pnm("P5\n1 1\n15\n", {5})), cv::Vec3b(85, 85, 85));
  EXPECT_EQ(pixel(pnm("P5\n1 1\n255\n", {5})), cv::Vec3b(5, 5, 5));
  EXPECT_EQ(pixel(pnm("P5\n1 1\n15\n", {200})), cv::Vec3b(255, 255, 255)) << "more than it may be";
  EXPECT_EQ(pixel(pnm("P6\n# a comment\n1 1\n15\n", {15, 5, 0})), cv::Vec3b(255, 85, 0));
  EXPECT_EQ(pixel(pnm("P6\n1 1\n1000\n", {1000 >> 8, 1000 & 255, 0, 200, 0, 0})), cv::Vec3b(255, 51, 0));
  EXPECT_EQ(pixel(pnm("P6\n1 1\n65535\n", {255, 255, 51, 51, 0, 0})), cv::Vec3b(255, 51, 0));
  EXPECT_EQ(pixel(pnm("P2\n1 1\n15\n5\n", {})), cv::Vec3b(85, 85, 85));
  EXPECT_EQ(pixel(pnm("P3\n1 1\n15\n15 5 0\n", {})), cv::Vec3b(255, 85, 0));
  EXPECT_EQ(pixel(pnm("P3\n1 1\n1000\n1000 200 0\n", {})), cv::Vec3b(255, 51, 0));
}

/// Grey pixels in a row as a TIFF of 16 bits with this PhotometricInterpretation, 0: 0 is white, 1: 0 is black.
Bytes grey_tiff16(const std::vector<uint32_t>& pixels, uint32_t photometric) {
  const auto count = static_cast<uint32_t>(pixels.size());
  const std::vector<std::pair<uint32_t, uint32_t>> entries{{256, count},       {257, 1}, {258, 16}, {259, 1},
                                                           {262, photometric}, {273, 8}, {277, 1},  {278, 1},
                                                           {279, 2 * count}};
  Bytes bytes{'I', 'I', 42, 0};
  add(bytes, 8 + 2 * count, 4);
  for (const uint32_t pixel : pixels) add(bytes, pixel, 2);
  add(bytes, static_cast<uint32_t>(entries.size()), 2);
  for (const auto& [tag, value] : entries) {
    add(bytes, tag, 2);
    add(bytes, 3, 2);
    add(bytes, 1, 4);
    add(bytes, value, 4);
  }
  add(bytes, 0, 4);
  return bytes;
}

TEST(ReadImage, ZeroIsWhereTheTiffSaysSo) {
  for (const auto& [photometric, expected] :
       {std::pair(0u, std::vector<int>{255, 128, 0}), {1u, {0, 127, 255}}}) {
    const cv::Mat read = read_image(write("a.tif", grey_tiff16({0, 127 * 257, 65535}, photometric)));
    ASSERT_EQ(read.cols, 3);
    for (int x = 0; x < 3; ++x)
      EXPECT_EQ(read.at<cv::Vec3b>(0, x)[0], expected[static_cast<size_t>(x)]) << photometric << " at " << x;
  }
}

}  // namespace
}  // namespace brightnet
