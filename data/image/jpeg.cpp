#include "data/image/jpeg.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <new>
#include <vector>

// jpeglib.h needs size_t and FILE before it.
#include <jerror.h>
#include <jpeglib.h>

#include "data/image/grey.h"

namespace brightnet {
namespace {

// libjpeg reports errors through a callback that must not return, so it uses longjmp.
struct ErrorSink {
  jpeg_error_mgr base;  // first, so that libjpeg's pointer to it is a pointer to the sink
  std::jmp_buf back;
  bool damaged = false, out_of_memory = false;
  char message[JMSG_LENGTH_MAX] = "";
};

ErrorSink& sink_of(j_common_ptr info) {
  return *reinterpret_cast<ErrorSink*>(info->err);
}

void on_error(j_common_ptr info) {
  ErrorSink& sink = sink_of(info);
  sink.out_of_memory = info->err->msg_code == JERR_OUT_OF_MEMORY;
  info->err->format_message(info, sink.message);
  std::longjmp(sink.back, 1);
}

// Warnings have level -1. Those about extra bytes and unusual headers do not affect the pixels; the others
// (premature end, invalid code, lost restart marker) mean that pixels are missing.
void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  switch (info->err->msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_TOO_MUCH_DATA: return;
    default: break;
  }
  ErrorSink& sink = sink_of(info);
  if (!sink.damaged) info->err->format_message(info, sink.message);
  sink.damaged = true;
}

// The whole file is in memory; after its end comes an end marker, as in libjpeg's own sources.
// JWRN_HIT_MARKER then reports missing pixels; in a progressive file, the use of that marker alone means
// missing scans.
struct MemorySource {
  jpeg_source_mgr base;
  bool ran_out = false;
};

MemorySource& source_of(j_decompress_ptr info) {
  return *reinterpret_cast<MemorySource*>(info->src);
}

boolean on_end_of_data(j_decompress_ptr info) {
  static const JOCTET end_marker[] = {0xFF, JPEG_EOI};
  source_of(info).ran_out = true;
  info->src->next_input_byte = end_marker;
  info->src->bytes_in_buffer = sizeof end_marker;
  return TRUE;
}

void skip(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  auto* source = info->src;
  if (static_cast<size_t>(count) > source->bytes_in_buffer) {
    on_end_of_data(info);
    return;
  }
  source->next_input_byte += count;
  source->bytes_in_buffer -= count;
}

/// A file that libjpeg reads. Lives outside the functions that call setjmp(), where longjmp would skip its destructor.
struct JpegReading {
  ErrorSink sink;
  MemorySource source;
  jpeg_decompress_struct info{};
  std::span<const uint8_t> bytes;

  explicit JpegReading(std::span<const uint8_t> file) : bytes(file) {
    info.err = jpeg_std_error(&sink.base);
    sink.base.error_exit = on_error;
    sink.base.emit_message = on_message;
  }
  ~JpegReading() { jpeg_destroy_decompress(&info); }
  JpegReading(const JpegReading&) = delete;
  JpegReading& operator=(const JpegReading&) = delete;
};

// To be called after setjmp(): already what libjpeg works with takes memory, and its lack is an error as others are.
void open(JpegReading& file) {
  jpeg_create_decompress(&file.info);
  MemorySource& source = file.source;
  source.base.init_source = [](j_decompress_ptr) {};
  source.base.term_source = [](j_decompress_ptr) {};
  source.base.fill_input_buffer = on_end_of_data;
  source.base.skip_input_data = skip;
  source.base.resync_to_restart = jpeg_resync_to_restart;
  source.base.next_input_byte = file.bytes.data();
  source.base.bytes_in_buffer = file.bytes.size();
  file.info.src = &source.base;
}

// Inverted CMYK stores the light that each ink transmits, so the colour is ink · black.
void cmyk_to_rgb(const std::vector<uint8_t>& cmyk, int width, uint8_t* rgb) {
  for (int x = 0; x < width; ++x) {
    const uint8_t* ink = cmyk.data() + 4 * static_cast<size_t>(x);
    for (int c = 0; c < 3; ++c) rgb[3 * x + c] = static_cast<uint8_t>((ink[c] * ink[3] + 127) / 255);
  }
}

// libjpeg upsamples chroma with a filter that reads the neighbouring pixel, so the pixels next to a cut
// differ from those of the whole image. This many more are decoded on each side and thrown away.
constexpr int cut_margin = 4;

cv::Rect with_margin(const cv::Rect& window, cv::Size size) {
  const cv::Rect wider(window.tl() - cv::Point(cut_margin, cut_margin),
                       window.size() + cv::Size(2 * cut_margin, 2 * cut_margin));
  return wider & cv::Rect({}, size);
}

// Where one of chroma stands for eight pixels, libjpeg enlarges it differently in a part of a reduced image.
bool can_cut(const jpeg_decompress_struct& info) {
  return info.scale_denom == 1 || info.max_h_samp_factor * info.max_v_samp_factor <= 4;
}

// The decoded image and its window. Lives outside decode_into(), where longjmp would skip its destructors.
struct Decoding {
  cv::Rect window;  // requested part; empty: everything
  int channels = 3;
  cv::Rect decoded;                // the part decoded: at least the window, horizontally in whole blocks
  cv::Mat image;                   // pixels of `decoded`
  std::vector<uint8_t> cmyk, rgb;  // one row of pixels
};

void store_cmyk(Decoding& to, int row) {
  uint8_t* const out = to.image.ptr<uint8_t>(row);
  cmyk_to_rgb(to.cmyk, to.image.cols, to.channels == 1 ? to.rgb.data() : out);
  if (to.channels == 1) to_grey(to.rgb.data(), static_cast<size_t>(to.image.cols), out);
}

bool decode_into(JpegReading& file, int denominator, Decoding& to) {
  if (setjmp(file.sink.back)) return false;
  open(file);
  jpeg_decompress_struct& info = file.info;
  jpeg_read_header(&info, TRUE);
  info.scale_num = 1;
  info.scale_denom = static_cast<unsigned>(denominator);
  const bool four_inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = four_inks ? JCS_CMYK : to.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&info);
  const cv::Size size(static_cast<int>(info.output_width), static_cast<int>(info.output_height));
  to.decoded = cv::Rect({}, size);
  if (!to.window.empty() && can_cut(info)) {
    to.decoded = with_margin(to.window, size);
    JDIMENSION left = static_cast<JDIMENSION>(to.decoded.x),
               width = static_cast<JDIMENSION>(to.decoded.width);
    jpeg_crop_scanline(&info, &left, &width);
    to.decoded.x = static_cast<int>(left);
    to.decoded.width = static_cast<int>(width);
    if (to.decoded.y > 0) jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(to.decoded.y));
  }
  to.image.create(to.decoded.size(), CV_8UC(to.channels));
  if (four_inks) {
    to.cmyk.resize(4 * static_cast<size_t>(to.decoded.width));
    to.rgb.resize(3 * static_cast<size_t>(to.decoded.width));
  }
  for (int y = 0; y < to.image.rows;) {
    if (four_inks) {
      JSAMPROW row = to.cmyk.data();
      jpeg_read_scanlines(&info, &row, 1);
      store_cmyk(to, y++);
      continue;
    }
    JSAMPROW rows[8];
    const int count = std::min(8, to.image.rows - y);
    for (int i = 0; i < count; ++i) rows[i] = to.image.ptr<uint8_t>(y + i);
    y += static_cast<int>(jpeg_read_scanlines(&info, rows, static_cast<JDIMENSION>(count)));
  }
  return true;
}

bool read_all(JpegReading& file) {
  if (setjmp(file.sink.back)) return false;
  open(file);
  jpeg_read_header(&file.info, TRUE);
  return jpeg_read_coefficients(&file.info) != nullptr;
}

}  // namespace

int jpeg_reduction(cv::Size stored, cv::Size at_least) {
  if (at_least.empty()) return 1;
  const auto fits = [](int64_t denominator, int64_t side, int64_t least) {
    if (side < denominator * least) return false;
    const int64_t decoded = (side + denominator - 1) / denominator, beyond = decoded * denominator - side;
    return 2 * beyond * least <= denominator * decoded;
  };
  for (const int denominator : {8, 4, 2}) {
    if (fits(denominator, stored.width, at_least.width) && fits(denominator, stored.height, at_least.height))
      return denominator;
  }
  return 1;
}

bool jpeg_is_whole(std::span<const uint8_t> bytes) {
  JpegReading file(bytes);
  const bool read = read_all(file);
  if (file.sink.out_of_memory) throw std::bad_alloc();
  return read && !file.sink.damaged && !file.source.ran_out;
}

JpegResult decode_jpeg(std::span<const uint8_t> bytes, int denominator, cv::Rect window, int channels) {
  JpegResult result;
  Decoding to;
  to.window = window;
  to.channels = channels;
  JpegReading file(bytes);
  const ErrorSink& sink = file.sink;
  const bool decoded = decode_into(file, denominator, to);
  if (sink.out_of_memory) throw std::bad_alloc();  // which says nothing about the file
  const bool started = file.info.output_width > 0, ran_out = file.source.ran_out;
  const bool scans_missing = decoded && ran_out && file.info.progressive_mode;

  if (decoded) result.image = window.empty() ? to.image : to.image(window - to.decoded.tl());
  if (decoded && !sink.damaged && !scans_missing) {
    result.state = JpegResult::State::whole;
    return result;
  }
  const bool damaged = decoded || (started && ran_out);
  result.state = damaged ? JpegResult::State::damaged : JpegResult::State::unreadable;
  result.message = scans_missing && !sink.damaged ? "the file ends before its last scan" : sink.message;
  return result;
}

}  // namespace brightnet
