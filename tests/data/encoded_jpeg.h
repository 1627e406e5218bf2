// JPEG files of all kinds for tests, and a device that decodes them as libjpeg does.
#pragma once

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <jpeglib.h>
#include <opencv2/imgproc.hpp>

#include "core/jpeg_decoder.h"
#include "data/image/jpeg.h"

namespace brightnet::testing {

struct JpegKind {
  int across = 2, down = 2;  ///< pixels for one of chroma
  bool progressive = false, arithmetic = false;
  J_COLOR_SPACE colors = JCS_YCbCr;  ///< JCS_GRAYSCALE, JCS_RGB, JCS_CMYK, JCS_YCCK
  bool adobe = true, named = true;   ///< how JCS_RGB is told: by Adobe's marker, by components called R, G, B
  std::string comment = {};
};

/// An RGB image as such a file.
inline std::vector<uint8_t> encoded_jpeg(const cv::Mat& rgb, const JpegKind& kind = {}) {
  cv::Mat image = rgb;
  if (kind.colors == JCS_GRAYSCALE) cv::cvtColor(rgb, image, cv::COLOR_RGB2GRAY);
  if (kind.colors == JCS_CMYK || kind.colors == JCS_YCCK) cv::cvtColor(rgb, image, cv::COLOR_RGB2RGBA);
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = static_cast<JDIMENSION>(image.cols);
  info.image_height = static_cast<JDIMENSION>(image.rows);
  info.input_components = image.channels();
  info.in_color_space = image.channels() == 1 ? JCS_GRAYSCALE : image.channels() == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, kind.colors);
  jpeg_set_quality(&info, 90, TRUE);
  if (kind.colors == JCS_YCbCr) {
    info.comp_info[0].h_samp_factor = kind.across;
    info.comp_info[0].v_samp_factor = kind.down;
  }
  if (kind.colors == JCS_RGB) {
    info.write_Adobe_marker = kind.adobe ? TRUE : FALSE;
    for (int i = 0; i < 3 && !kind.named; ++i) info.comp_info[i].component_id = i + 1;
  }
  info.arith_code = kind.arithmetic ? TRUE : FALSE;
  if (kind.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  if (!kind.comment.empty())
    jpeg_write_marker(&info, JPEG_COM, reinterpret_cast<const JOCTET*>(kind.comment.data()),
                      static_cast<unsigned>(kind.comment.size()));
  for (int y = 0; y < image.rows; ++y) {
    JSAMPROW row = image.ptr(y);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::vector<uint8_t> file(bytes, bytes + size);
  std::free(bytes);
  return file;
}

/// Smooth colours everywhere, from dark to bright.
inline cv::Mat smooth_image(cv::Size size, uint64_t seed = 1) {
  cv::Mat image(size, CV_8UC3);
  cv::RNG(seed).fill(image, cv::RNG::UNIFORM, 0, 256);
  cv::GaussianBlur(image, image, {}, 3);
  cv::normalize(image, image, 0, 255, cv::NORM_MINMAX);
  return image;
}

inline void write_file(const std::string& file, const std::vector<uint8_t>& bytes) {
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

/// libjpeg, taken for a device.
class TakenForDevice : public JpegDecoder {
 public:
  bool decode(std::span<const uint8_t> file, const JpegPart& part, uint8_t* pixels) override {
    ++asked;
    if (refuses) return false;
    const cv::Mat whole = decode_jpeg(file, 1, {}, part.channels).image;
    EXPECT_EQ(whole.size(), cv::Size(part.width, part.height));
    cv::Mat out(part.part_height, part.part_width, whole.type(), pixels);
    whole(cv::Rect(part.left, part.top, part.part_width, part.part_height)).copyTo(out);
    if (inverts) cv::bitwise_not(out, out);
    return true;
  }
  std::atomic<int> asked = 0;
  bool refuses = false, inverts = false;
};

}  // namespace brightnet::testing
