#include "data/image/window.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <opencv2/imgproc.hpp>

#include "data/image/header.h"
#include "data/image/jpeg.h"
#include "data/image/read_image.h"
#include "data/image/stored_file.h"

namespace brightnet {
namespace {

// Whether the end marker is present (some writers pad the end). A truncated file is left to read_image(),
// which decodes all of it and reports the damage.
bool has_its_end(const std::vector<uint8_t>& bytes) {
  constexpr size_t padding = 64;
  const auto from = bytes.end() - static_cast<ptrdiff_t>(std::min(padding, bytes.size()));
  constexpr uint8_t end_mark[] = {0xFF, 0xD9};
  return std::search(from, bytes.end(), std::begin(end_mark), std::end(end_mark)) != bytes.end();
}

// The whole pixels along one axis that [from, from + extent) touches; at least one.
std::pair<int, int> touched(double from, double extent, int length) {
  const double begin = std::clamp(std::floor(from * length), 0.0, length - 1.0);
  const double end = std::clamp(std::ceil((from + extent) * length), begin + 1, static_cast<double>(length));
  return {static_cast<int>(begin), static_cast<int>(end)};
}

/// The window, decoded by the device, where the file is one for it.
std::optional<ImageWindow> decode_on_device(const DeviceDecoding& device, const std::string& name,
                                            const std::vector<uint8_t>& bytes, const ImageHeader& header,
                                            cv::Size at_least, const cv::Rect2d& needed, int channels) {
  const cv::Size size(header.width, header.height);
  if (header.transposed()) std::swap(at_least.width, at_least.height);
  if (!device.decoder || !header.usual_jpeg || int64_t{size.width} * size.height > JpegDecoder::most_pixels ||
      jpeg_reduction(size, at_least) > 1)
    return std::nullopt;
  if (!*device.whole) {
    if (!jpeg_is_whole(bytes)) return std::nullopt;
    *device.whole = true;
  }
  const cv::Rect window = header.orientation == 1 ? touched_pixels(size, needed) : cv::Rect({}, size);
  const int decoded_channels = header.grey ? 1 : channels;
  cv::Mat pixels(window.size(), CV_8UC(decoded_channels));
  const JpegPart part{size.width, size.height,  decoded_channels, window.x,
                      window.y,   window.width, window.height,    name};
  if (!device.decoder->decode(bytes, part, pixels.ptr())) return std::nullopt;
  if (decoded_channels != channels) cv::cvtColor(pixels, pixels, cv::COLOR_GRAY2RGB);
  if (header.orientation == 1) return ImageWindow{pixels, size, window.tl()};
  pixels = upright(pixels, header.orientation);
  return ImageWindow{pixels, pixels.size(), {}};
}

}  // namespace

cv::Rect touched_pixels(cv::Size size, const cv::Rect2d& needed) {
  const auto [left, right] = touched(needed.x, needed.width, size.width);
  const auto [top, bottom] = touched(needed.y, needed.height, size.height);
  return {cv::Point(left, top), cv::Point(right, bottom)};
}

ImageWindow read_image_window(const std::filesystem::path& file, cv::Size at_least, const cv::Rect2d& needed,
                              int channels, const DeviceDecoding& device) {
  const std::vector<uint8_t> bytes = read_stored(file, 0, whole_file);
  const auto header = parse_image_header(bytes);
  const bool jpeg = header && image_format(bytes) == ImageFormat::jpeg && has_its_end(bytes);
  if (jpeg) {
    if (auto window = decode_on_device(device, file.string(), bytes, *header, at_least, needed, channels))
      return *window;
  }
  if (jpeg && header->orientation == 1) {
    const int reduction = jpeg_reduction({header->width, header->height}, at_least);
    const cv::Size size((header->width + reduction - 1) / reduction,
                        (header->height + reduction - 1) / reduction);
    const cv::Rect window = touched_pixels(size, needed);
    const JpegResult result = decode_jpeg(bytes, reduction, window, channels);
    if (result.state == JpegResult::State::whole) return {result.image, size, window.tl()};
  }
  const cv::Mat whole = read_image(file, at_least, channels);
  return {whole, whole.size(), {}};
}

}  // namespace brightnet
