#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

// jpeglib.h needs size_t and FILE before it.
#include <jerror.h>
#include <jpeglib.h>

#include "core/error.h"
#include "data/image/jpeg.h"

namespace brightnet {
namespace {

// libjpeg reports errors through a callback that must not return, so it uses longjmp.
struct EncodingProblem {
  jpeg_error_mgr base;  // first, so that libjpeg's pointer to it is a pointer to the problem
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX] = "";
};

/// What libjpeg writes to. Lives outside encode_into(), where longjmp would skip its destructor.
struct EncodedBytes {
  unsigned char* data = nullptr;
  unsigned long size = 0;
  ~EncodedBytes() { std::free(data); }
};

bool encode_into(jpeg_compress_struct& info, EncodingProblem& problem, const cv::Mat& rgb, int quality,
                 EncodedBytes& to) {
  if (setjmp(problem.back)) {
    to.data = nullptr;  // libjpeg may have freed this buffer for a larger one, of which it has not told yet
    return false;
  }
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &to.data, &to.size);
  info.image_width = static_cast<JDIMENSION>(rgb.cols);
  info.image_height = static_cast<JDIMENSION>(rgb.rows);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(rgb.ptr<uint8_t>(static_cast<int>(info.next_scanline)));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

std::vector<uint8_t> encode_jpeg(const cv::Mat& rgb, int quality) {
  BRIGHTNET_CHECK(rgb.type() == CV_8UC3 && !rgb.empty(), "only 8-bit RGB images are written as JPEG");
  if (std::max(rgb.cols, rgb.rows) > JPEG_MAX_DIMENSION)
    throw InputError("this picture cannot be written as JPEG, which has at most " +
                         std::to_string(JPEG_MAX_DIMENSION) + " pixels on a side",
                     "", "Write it as .png.");
  EncodingProblem problem;
  EncodedBytes bytes;
  jpeg_compress_struct info{};
  info.err = jpeg_std_error(&problem.base);
  problem.base.error_exit = [](j_common_ptr failed) {
    auto& sink = *reinterpret_cast<EncodingProblem*>(failed->err);
    failed->err->format_message(failed, sink.message);
    std::longjmp(sink.back, 1);
  };
  const bool encoded = encode_into(info, problem, rgb, quality, bytes);
  jpeg_destroy_compress(&info);
  if (!encoded && problem.base.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
  if (!encoded)
    throw InputError("this picture cannot be written as JPEG (" + std::string(problem.message) + ")", "",
                     "Write it as .png.");
  return {bytes.data, bytes.data + bytes.size};
}

}  // namespace brightnet
