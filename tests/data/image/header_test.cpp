#include "data/image/header.h"

#include <functional>

#include <gtest/gtest.h>

#include "data/image/darknet_image.h"
#include "tests/data/image_files.h"

namespace brightnet {
namespace {

using namespace image_files;

// The eight orientations by their definition in EXIF 2.3: where the stored row 0 and column 0 are shown.
cv::Mat shown(const cv::Mat& stored, int orientation) {
  const bool transposed = orientation >= 5;
  cv::Mat out(transposed ? stored.cols : stored.rows, transposed ? stored.rows : stored.cols, stored.type());
  for (int r = 0; r < stored.rows; ++r) {
    for (int c = 0; c < stored.cols; ++c) {
      const int bottom = stored.rows - 1 - r, right = stored.cols - 1 - c;
      int y = 0, x = 0;
      switch (orientation) {
        case 1: y = r, x = c; break;           // row 0 at the top, column 0 on the left
        case 2: y = r, x = right; break;       // top, right
        case 3: y = bottom, x = right; break;  // bottom, right
        case 4: y = bottom, x = c; break;      // bottom, left
        case 5: y = c, x = r; break;           // row 0 on the left, column 0 at the top
        case 6: y = c, x = bottom; break;      // right, top
        case 7: y = right, x = bottom; break;  // right, bottom
        default: y = right, x = r; break;      // 8: left, bottom
      }
      out.at<cv::Vec3b>(y, x) = stored.at<cv::Vec3b>(r, c);
    }
  }
  return out;
}

TEST(ImageHeader, JpegWithEachExifOrientationIsShownUprightByBothByteOrders) {
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

TEST(ImageHeader, DamagedExifIsIgnored) {
  const Bytes plain = encode(".jpg", gradient(64, 48));
  for (const int nonsense : {0, 9, 255})
    EXPECT_EQ(image_size(write("a.jpg", with_exif(plain, nonsense, true))), cv::Size(64, 48));
  const Bytes block = exif(6, true);
  ASSERT_EQ(exif_orientation(block), 6);
  for (size_t length = 0; length < 20; ++length) {  // whatever is cut off, nothing is read past the end
    const Bytes cut(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_EQ(exif_orientation(cut), 1) << length;
  }
  Bytes far = block;
  far[4] = far[5] = far[6] = far[7] = 0xFF;
  EXPECT_EQ(exif_orientation(far), 1);
  Bytes of_the_resolution = block;  // the directory's only entry
  of_the_resolution[10] = 0x1A;
  EXPECT_EQ(exif_orientation(of_the_resolution), 1);
}

TEST(ImageHeader, HeaderBehindALongColourProfileIsFound) {
  Bytes jpeg = with_exif(encode(".jpg", gradient(64, 48)), 6, false);
  for (int i = 0; i < 3; ++i) jpeg = with_jpeg_segment(jpeg, 0xE2, Bytes(60000, 7));
  EXPECT_EQ(image_size(write("a.jpg", jpeg)), cv::Size(48, 64));
}

TEST(ImageHeader, AnImageOfMorePixelsThanTheLimitIsRefusedByItsHeader) {
  const cv::Mat image = gradient(40, 30);
  cv::Mat grey;
  cv::cvtColor(image, grey, cv::COLOR_BGR2GRAY);
  for (const std::string extension : {".jpg", ".png", ".bmp", ".webp", ".tif", ".ppm", ".pgm", ".ras"}) {
    const Bytes bytes = encode(extension, extension == ".pgm" ? grey : image);
    EXPECT_EQ(announced_pixels(bytes), 1200u) << extension;
    const fs::path file = write("a" + extension, bytes);
    EXPECT_EQ(read_image(file, {}, 3, 1200).size(), cv::Size(40, 30)) << extension;
    EXPECT_EQ(read_darknet_image(file, 3, 1200).size(), cv::Size(40, 30)) << extension;
    for (const auto& read : {std::function([&] { read_image(file, {}, 3, 1199); }),
                             std::function([&] { read_darknet_image(file, 3, 1199); })}) {
      try {
        read();
        ADD_FAILURE() << extension << " was decoded";
      } catch (const ImageError& e) {
        EXPECT_EQ(e.kind(), ImageError::Kind::too_large) << extension;
        EXPECT_EQ(e.detail(), "it has 1200 pixels, and at most 1199 are decoded") << extension;
      }
    }
  }
}

// A BigTIFF, a big-endian TIFF, a GIF and a codestream of JPEG 2000: nothing here writes them.
TEST(ImageHeader, PixelsAreAnnouncedByHeadersOfOtherFormatsToo) {
  const auto padded = [](Bytes bytes) {
    bytes.resize(std::max<size_t>(bytes.size(), 64));
    return bytes;
  };
  const Bytes big{'I', 'I', 43, 0, 8,  0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0,
                  0,   0,   0,  1, 16, 0, 1, 0, 0,  0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,  //
                  1,   1,   4,  0, 1,  0, 0, 0, 0,  0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(announced_pixels(padded(big)), 3u);
  const Bytes swapped{'M', 'M', 0, 42, 0, 0, 0, 8, 0, 2, 1, 0, 0, 3, 0, 0, 0,
                      1,   0,   7, 0,  0, 1, 1, 0, 4, 0, 0, 0, 1, 0, 0, 0, 5};
  EXPECT_EQ(announced_pixels(padded(swapped)), 35u);
  EXPECT_EQ(announced_pixels(padded({'G', 'I', 'F', '8', '9', 'a', 0, 2, 3, 0})), 1536u);
  const Bytes stream{0xFF, 0x4F, 0xFF, 0x51, 0, 47, 0, 0, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 2, 0, 0, 0, 1};
  EXPECT_EQ(announced_pixels(padded(stream)), 49u);
  Bytes comment{'P', '6', '\n', '#', ' ', '9', '9', '\n', '1', '2', ' ', '3', '\n'};
  EXPECT_EQ(announced_pixels(padded(comment)), 36u);
  // Whatever is cut off, nothing is read past the end.
  for (Bytes bytes : {padded(big), padded(swapped), padded(stream), padded(comment)}) {
    for (; !bytes.empty(); bytes.pop_back()) {
      bytes.shrink_to_fit();
      announced_pixels(bytes);
      has_alpha_to_blend(bytes, 8);
    }
  }
}

TEST(ImageHeader, SizeComesFromTheHeaderAlone) {
  // Nothing but the header is left of these files, so whoever decodes them fails.
  const Bytes jpeg = encode(".jpg", gradient(64, 48));
  EXPECT_EQ(image_size(write("a.jpg", Bytes(jpeg.begin(), jpeg.begin() + 700))), cv::Size(64, 48));
  const Bytes png = encode(".png", gradient(33, 21));
  EXPECT_EQ(image_size(write("a.png", Bytes(png.begin(), png.begin() + 60))), cv::Size(33, 21));
  const Bytes bmp = encode(".bmp", gradient(33, 21));
  EXPECT_EQ(image_size(write("a.bmp", Bytes(bmp.begin(), bmp.begin() + 60))), cv::Size(33, 21));
  Bytes from_the_top(bmp.begin(), bmp.begin() + 60);  // by a negative height
  from_the_top[22] = 256 - 21;
  from_the_top[23] = from_the_top[24] = from_the_top[25] = 0xFF;
  EXPECT_EQ(image_size(write("b.bmp", from_the_top)), cv::Size(33, 21));
  EXPECT_EQ(announced_pixels(from_the_top), 33u * 21u);
  const Bytes lossy = encode(".webp", gradient(35, 22), {cv::IMWRITE_WEBP_QUALITY, 80});
  EXPECT_EQ(image_size(write("a.webp", Bytes(lossy.begin(), lossy.begin() + 60))), cv::Size(35, 22));
  const Bytes lossless = encode(".webp", gradient(36, 23), {cv::IMWRITE_WEBP_QUALITY, 101});
  EXPECT_EQ(image_size(write("b.webp", Bytes(lossless.begin(), lossless.begin() + 60))), cv::Size(36, 23));
}

TEST(ImageHeader, PngWithExifIsShownUpright) {
  const cv::Mat stored = gradient(33, 21);
  const Bytes png = with_png_exif(encode(".png", stored), exif(8, false));
  const fs::path file = write("a.png", png);
  EXPECT_EQ(parse_image_header(png)->orientation, 8);
  EXPECT_EQ(image_size(file), cv::Size(21, 33));
  EXPECT_EQ(largest_difference(read_image(file), shown(rgb(stored), 8)), 0);
}

TEST(ImageHeader, WebpWithExifIsShownUpright) {
  const cv::Mat stored = gradient(36, 24);
  const Bytes extended =
      with_webp_exif(encode(".webp", stored, {cv::IMWRITE_WEBP_QUALITY, 101}), {36, 24}, exif(6, true));
  const fs::path file = write("a.webp", extended);
  EXPECT_EQ(image_size(file), cv::Size(24, 36));
  EXPECT_EQ(largest_difference(read_image(file), shown(rgb(stored), 6)), 0);
}

TEST(ImageHeader, TheOrientationMayBeANumberOfFourBytes) {
  Bytes little = exif(6, true), big = exif(6, false);
  little[12] = big[13] = 4;  // LONG in the place of SHORT
  big[19] = 0;
  big[21] = 6;
  EXPECT_EQ(exif_orientation(little), 6);
  EXPECT_EQ(exif_orientation(big), 6);
  little[20] = 1;
  EXPECT_EQ(exif_orientation(little), 1) << "65542 is none";
}

}  // namespace
}  // namespace brightnet
