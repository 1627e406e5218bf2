#include "data/image/darknet_image.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/error.h"
#include "data/image/grey.h"
#include "data/image/header.h"
#include "data/image/stored_file.h"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_JPEG
#define STBI_NO_STDIO
#include <stb_image.h>

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// Sides of the image inside a letterbox; darknet divides integers.
cv::Size letterboxed(int width, int height, const InputSize& input) {
  if (input.width / static_cast<float>(width) < input.height / static_cast<float>(height)) {
    return {input.width, static_cast<int>(static_cast<int64_t>(height) * input.width / width)};
  }
  return {static_cast<int>(static_cast<int64_t>(width) * input.height / height), input.height};
}

/// An output pixel is the weighted sum of source pixels first and first + 1.
struct Tap {
  int first = 0;
  float weight = 1, next_weight = 0;
};

Tap tap_at(float source) {
  const auto first = static_cast<int>(source);
  const float next = source - first;
  return {first, 1 - next, next};
}

float scale_between(int from, int to) {
  return to > 1 ? (from - 1) / static_cast<float>(to - 1) : 0.0f;
}

std::vector<Tap> column_taps(int from, int to) {
  std::vector<Tap> all;
  for (int i = 0; i + 1 < to; ++i) all.push_back(from == 1 ? Tap{} : tap_at(i * scale_between(from, to)));
  all.push_back({from - 1, 1, 0});
  return all;
}

/// Rows are like columns except for the last, where darknet omits the next row but keeps the weight of the
/// first. If rounding puts the source slightly above the image's last row, that weight is nearly 0, and the
/// input's last row is nearly black.
std::vector<Tap> row_taps(int from, int to) {
  std::vector<Tap> all;
  for (int i = 0; i < to; ++i) all.push_back(tap_at(i * scale_between(from, to)));
  if (to == 1) all.back() = {from - 1, 1, 0};
  all.back().next_weight = 0;
  return all;
}

/// One row of the image with its columns blended.
void blend_columns(const uint8_t* row, int channels, const std::vector<Tap>& columns, float* out) {
  for (const auto& [first, weight, next_weight] : columns) {
    const uint8_t* left = row + channels * static_cast<ptrdiff_t>(first);
    const uint8_t* right = next_weight > 0 ? left + channels : left;
    for (int c = 0; c < channels; ++c) {
      *out++ = weight * (left[c] / 255.0f) + next_weight * (right[c] / 255.0f);
    }
  }
}

/// Whether a Huffman table has more codes than there are symbols. stb_image up to 2.27 writes past its arrays then. Its walk
/// from marker to marker (ITU T.81, annex B), and its reading of a table past the end of a segment, are followed here.
bool has_too_long_table(std::span<const uint8_t> bytes) {
  const auto byte = [&](size_t at) -> size_t { return at < bytes.size() ? bytes[at] : 0; };
  for (size_t at = 2; at + 1 < bytes.size();) {
    const size_t code = byte(at + 1);
    if (byte(at) != 0xFF || code == 0xFF) {
      ++at;
      continue;
    }
    if (code == 0xD9) return false;
    const bool without_length = code <= 0x01 || (code >= 0xD0 && code <= 0xD8);
    const size_t end = at + 2 + (without_length ? 0 : std::max<size_t>(2, byte(at + 2) << 8 | byte(at + 3)));
    for (size_t table = at + 4; code == 0xC4 && table < end;) {
      size_t symbols = 0;
      for (size_t i = 1; i <= 16; ++i) symbols += byte(table + i);
      if (symbols > 256) return true;
      table += 17 + symbols;
    }
    at = end;
  }
  return false;
}

}  // namespace

cv::Mat read_darknet_image(const fs::path& file, int channels, uint64_t max_pixels) {
  BRIGHTNET_CHECK(channels == 1 || channels == 3, "images are grey or RGB");
  if (image_format(read_stored(file, 0, 16)) != ImageFormat::jpeg) {
    const cv::Mat image = read_image(file, {}, 3, max_pixels);
    return channels == 1 ? grey_of(image) : image;
  }
  // stb_image fills missing pixels with grey, so a file without its end marker is checked by read_image().
  if (!has_end_mark(file)) read_image(file, {}, 3, max_pixels);
  if (stored_size(file).value_or(0) > std::numeric_limits<int>::max())
    throw ImageError(ImageError::Kind::undecodable, "it is larger than 2 GiB", file);
  const std::vector<uint8_t> whole = read_stored(file, 0, std::numeric_limits<int>::max());
  check_pixels(file, whole, max_pixels);
  if (has_too_long_table(whole))
    throw ImageError(ImageError::Kind::undecodable, "one of its Huffman tables has more than 256 symbols",
                     file);
  int width = 0, height = 0, stored = 0;
  const std::unique_ptr<uint8_t, decltype(&stbi_image_free)> pixels(
      stbi_load_from_memory(whole.data(), static_cast<int>(whole.size()), &width, &height, &stored, channels),
      stbi_image_free);
  if (!pixels) throw ImageError(ImageError::Kind::undecodable, stbi_failure_reason(), file);
  const cv::Mat image = cv::Mat(height, width, CV_8UC(channels), pixels.get()).clone();
  const auto header = parse_image_header(whole);
  return upright(image, header ? header->orientation : 1);
}

void fill_darknet_input(const cv::Mat& image, const InputSize& size, bool letterbox, float* values) {
  const int channels = image.channels();
  BRIGHTNET_CHECK(image.depth() == CV_8U && (channels == 1 || channels == 3) && size.shorter() > 1,
                  "darknet's resize takes 8-bit images");
  const cv::Size shown =
      letterbox ? letterboxed(image.cols, image.rows, size) : cv::Size(size.width, size.height);
  const auto values_of = [channels](int pixels) { return channels * static_cast<size_t>(pixels); };
  const size_t row_values = values_of(size.width), shown_values = values_of(shown.width);
  if (letterbox) std::fill(values, values + row_values * size.height, 0.5f);
  if (shown.empty()) return;
  float* corner =
      values + ((size.height - shown.height) / 2) * row_values + values_of((size.width - shown.width) / 2);
  const std::vector<Tap> columns = column_taps(image.cols, shown.width),
                         rows = row_taps(image.rows, shown.height);
  std::vector<float> upper(shown_values), lower(shown_values);
  int upper_row = -1, lower_row = -1;  // the source rows they hold
  const auto blend = [&](int row, std::vector<float>& into, int& now) {
    if (now != row) blend_columns(image.ptr<uint8_t>(row), channels, columns, into.data());
    now = row;
  };
  for (int y = 0; y < shown.height; ++y) {
    const auto [first, weight, next_weight] = rows[y];
    if (first == lower_row) {
      std::swap(upper, lower);
      std::swap(upper_row, lower_row);
    }
    blend(first, upper, upper_row);
    if (next_weight > 0) blend(first + 1, lower, lower_row);
    float* out = corner + y * row_values;
    for (size_t i = 0; i < shown_values; ++i)
      out[i] = next_weight > 0 ? weight * upper[i] + next_weight * lower[i] : weight * upper[i];
  }
}

Placement place_as_darknet(int image_width, int image_height, const InputSize& size, bool letterbox) {
  BRIGHTNET_CHECK(image_width > 0 && image_height > 0 && size.given(), "an image or input without pixels");
  cv::Size shown =
      letterbox ? letterboxed(image_width, image_height, size) : cv::Size(size.width, size.height);
  shown = {std::max(1, shown.width), std::max(1, shown.height)};
  return {shown.width / static_cast<float>(image_width), shown.height / static_cast<float>(image_height),
          static_cast<float>(size.width - shown.width) / 2,
          static_cast<float>(size.height - shown.height) / 2};
}

}  // namespace brightnet
