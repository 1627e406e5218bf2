#include "data/image/read_image.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "core/text.h"
#include "data/image/codecs.h"
#include "data/image/grey.h"
#include "data/image/header.h"
#include "data/image/jpeg.h"
#include "data/image/stored_file.h"

namespace brightnet {

LibraryVersion opencv_version() {
  return {cv::getVersionString(), CV_VERSION};
}

namespace {

namespace fs = std::filesystem;

const char* remedy(ImageError::Kind kind) {
  switch (kind) {
    case ImageError::Kind::missing: return "Check the path.";
    case ImageError::Kind::undecodable: return "Convert it to JPEG or PNG, or remove it.";
    case ImageError::Kind::too_large:
      return "Make it smaller, cut it into parts, or raise data.max_pixels (--max-pixels of detect).";
    case ImageError::Kind::truncated: return "Copy or download it again, or remove it.";
  }
  return "";
}

// 8-bit BGRA blended over black; alpha is not premultiplied in any supported format.
cv::Mat over_black(const cv::Mat& bgra) {
  cv::Mat rgb(bgra.size(), CV_8UC3);
  for (int y = 0; y < bgra.rows; ++y) {
    const auto* from = bgra.ptr<cv::Vec4b>(y);
    auto* to = rgb.ptr<cv::Vec3b>(y);
    for (int x = 0; x < bgra.cols; ++x) {
      for (int c = 0; c < 3; ++c) to[x][c] = static_cast<uint8_t>((from[x][2 - c] * from[x][3] + 127) / 255);
    }
  }
  return rgb;
}

// Darker and brighter pixels than these become black and white: a few dead or hot ones do not decide the range.
constexpr double outliers = 0.001;

// 16-bit grey is what cameras, scanners and X-ray detectors of 10 to 16 bits write, most of them with the low bits: by
// its upper 8 bits alone a 12-bit image would have 16 shades of nearly black. So an image's own range becomes 0 … 255,
// but no level becomes more than one: an image of 8 bits in 16 keeps its contrast.
cv::Mat grey16_to_8(const cv::Mat& image) {
  std::vector<size_t> count(1 << 16);
  for (int y = 0; y < image.rows; ++y) {
    const auto* row = image.ptr<uint16_t>(y);
    for (int x = 0; x < image.cols; ++x) ++count[row[x]];
  }
  const auto most = static_cast<size_t>(outliers * image.total());
  int low = 0, high = (1 << 16) - 1;
  for (size_t seen = count[0]; seen <= most; seen += count[low]) ++low;
  for (size_t seen = count.back(); seen <= most; seen += count[high]) --high;
  const double scale = 255.0 / std::max(255, high - low);
  cv::Mat out;
  image.convertTo(out, CV_8U, scale, -low * scale);
  return out;
}

// Converts OpenCV's unchanged output to 8-bit RGB, and grey to `channels`. Throws when the conversion is ambiguous.
cv::Mat to_rgb8(cv::Mat image, int channels, std::span<const uint8_t> bytes, const fs::path& file) {
  const int bits = 8 * static_cast<int>(image.elemSize1());
  if (image.type() == CV_16UC1 && is_white_at_zero(bytes)) cv::bitwise_not(image, image);
  if (image.type() == CV_16UC1) image = grey16_to_8(image);
  const double maximum = unscaled_maximum(bytes, bits);
  if (image.depth() == CV_16U || (bits == 8 && maximum < 255)) image.convertTo(image, CV_8U, 255 / maximum);
  if (image.depth() != CV_8U)
    throw ImageError(ImageError::Kind::undecodable, "its pixels are neither 8 nor 16 bits a channel", file);
  cv::Mat rgb;
  switch (image.channels()) {
    case 1:
      if (channels == 1) return image;
      cv::cvtColor(image, rgb, cv::COLOR_GRAY2RGB);
      return rgb;
    case 3: cv::cvtColor(image, rgb, cv::COLOR_BGR2RGB); return rgb;
    case 4:
      if (has_alpha_to_blend(bytes, bits)) return over_black(image);
      cv::cvtColor(image, rgb, cv::COLOR_BGRA2RGB);
      return rgb;
    default: throw ImageError(ImageError::Kind::undecodable, "it has neither 1, 3 nor 4 channels", file);
  }
}

// The largest that a TIFF can be, and more than any image of 16 bits a channel within usual_max_pixels.
constexpr uint64_t max_bytes = uintmax_t{4} << 30;

void check_bytes(const fs::path& file) {
  const std::optional<uint64_t> bytes = stored_size(file);
  if (bytes.value_or(0) > max_bytes)
    throw ImageError(ImageError::Kind::too_large,
                     fmt::format("its file has {} bytes, and at most {} are read", *bytes, max_bytes), file);
}

cv::Mat read_jpeg(std::span<const uint8_t> bytes, const ImageHeader& header, cv::Size at_least, int channels,
                  const fs::path& file) {
  if (header.transposed()) std::swap(at_least.width, at_least.height);
  JpegResult result =
      decode_jpeg(bytes, jpeg_reduction({header.width, header.height}, at_least), {}, channels);
  switch (result.state) {
    case JpegResult::State::whole: break;
    case JpegResult::State::damaged: throw ImageError(ImageError::Kind::truncated, result.message, file);
    case JpegResult::State::unreadable: throw ImageError(ImageError::Kind::undecodable, result.message, file);
  }
  return upright(result.image, header.orientation);
}

/// A format that OpenCV reads in some versions and builds only.
struct OptionalFormat {
  const char* name;
  std::vector<std::string_view> extensions;
  std::vector<std::string_view> magic;
  size_t magic_at;
  const char* converted_by;
};
const std::vector<OptionalFormat>& optional_formats() {
  static const std::vector<OptionalFormat> formats{
      {"GIF", {".gif"}, {"GIF8"}, 0, "ffmpeg -i FILE.gif -frames:v 1 FILE.png"},
      {"AVIF", {".avif"}, {"ftypavif", "ftypavis"}, 4, "avifdec FILE.avif FILE.png"},
      {"HEIC",
       {".heic", ".heif"},
       {"ftypheic", "ftypheix", "ftypmif1"},
       4,
       "heif-convert FILE.heic FILE.jpg"}};
  return formats;
}

bool opencv_reads(const OptionalFormat& format) {
  const std::string built = cv::getBuildInformation();
  const size_t at = built.find(std::string("    ") + format.name + ':');
  return at != std::string::npos &&
         built.substr(at, built.find('\n', at) - at).find("NO") == std::string::npos;
}

std::string how_to_convert(const OptionalFormat& format) {
  return std::string("OpenCV ") + cv::getVersionString() + " as it was built does not read " + format.name +
         ": convert it, for example with " + format.converted_by;
}

/// Why OpenCV cannot read a file of none of the formats of image_format().
std::string why_unknown(std::span<const uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const OptionalFormat& format : optional_formats()) {
    for (const std::string_view magic : format.magic) {
      if (text.size() >= format.magic_at && text.substr(format.magic_at).starts_with(magic))
        return opencv_reads(format) ? "its contents are damaged" : how_to_convert(format);
    }
  }
  constexpr std::string_view little_tiff("II*\0", 4), big_tiff("MM\0*", 4);
  const bool known = text.starts_with(little_tiff) || text.starts_with(big_tiff) || announced_pixels(bytes);
  return known ? "its contents are damaged" : "it is not an image of a kind that can be read";
}

std::string why_not_animated() {
  return std::string("it is an animated WebP, and OpenCV ") + cv::getVersionString() +
         " reads still ones only: save a frame of it, for example with webpmux -get frame 1 FILE.webp -o STILL.webp";
}

std::string lower_extension(const fs::path& file) {
  return lower_case(file.extension().string());
}

const OptionalFormat* optional_format(const fs::path& file) {
  for (const OptionalFormat& format : optional_formats()) {
    const auto& known = format.extensions;
    if (std::find(known.begin(), known.end(), lower_extension(file)) != known.end()) return &format;
  }
  return nullptr;
}

// Whether a file with a valid header is truncated. OpenCV only reports a failure.
bool ends_early(ImageFormat format, std::span<const uint8_t> bytes) {
  constexpr std::string_view png_end = "IEND";
  if (format == ImageFormat::png)
    return std::search(bytes.begin(), bytes.end(), png_end.begin(), png_end.end()) == bytes.end();
  if (format == ImageFormat::webp) {
    const size_t riff = bytes[4] | bytes[5] << 8 | bytes[6] << 16 | static_cast<size_t>(bytes[7]) << 24;
    return bytes.size() < riff + 8;
  }
  return false;
}

// OpenCV does not decode a WebP of fewer bytes, and writes its own error about it to std::cerr, which is the process's.
bool too_short_for_opencv(ImageFormat format, std::span<const uint8_t> bytes) {
  constexpr size_t webp_header = 32;
  return format == ImageFormat::webp && bytes.size() < webp_header;
}

cv::Mat read_by_opencv(const std::vector<uint8_t>& bytes, int channels, const fs::path& file) {
  const ImageFormat format = image_format(bytes);
  if (ends_early(format, bytes))  // checked first, since the codecs would print warnings to stderr
    throw ImageError(ImageError::Kind::truncated, "the file ends before the image does", file);
  cv::Mat image;
  if (!too_short_for_opencv(format, bytes)) {
    try {
      image = decode_image(bytes, cv::IMREAD_UNCHANGED);
    } catch (const cv::Exception& problem) {
      if (problem.code == cv::Error::StsNoMem) throw;  // says nothing about the file
      image.release();                                 // for example, a size that OpenCV rejects
    }
  }
  if (image.empty()) {
    throw ImageError(ImageError::Kind::undecodable,
                     is_animated_webp(bytes)        ? why_not_animated()
                     : format != ImageFormat::other ? "its contents are damaged"
                                                    : why_unknown(bytes),
                     file);
  }
  const cv::Mat read = to_rgb8(image, channels, bytes, file);
  return read.channels() == channels ? read : grey_of(read);
}

}  // namespace

// EXIF 2.3, section 4.6.4, defines the eight orientations.
cv::Mat upright(const cv::Mat& image, int orientation) {
  constexpr int horizontally = 1, vertically = 0, both = -1;
  cv::Mat out;
  switch (orientation) {
    case 2: cv::flip(image, out, horizontally); return out;
    case 3: cv::flip(image, out, both); return out;
    case 4: cv::flip(image, out, vertically); return out;
    case 5: cv::transpose(image, out); return out;
    case 6: cv::rotate(image, out, cv::ROTATE_90_CLOCKWISE); return out;
    case 7:
      cv::transpose(image, out);
      cv::flip(out, out, both);
      return out;
    case 8: cv::rotate(image, out, cv::ROTATE_90_COUNTERCLOCKWISE); return out;
    default: return image;
  }
}

ImageError::ImageError(Kind kind, const std::string& detail, const fs::path& file)
    : InputError((kind == Kind::missing       ? "this image cannot be read: "
                  : kind == Kind::undecodable ? "this image cannot be decoded: "
                  : kind == Kind::too_large   ? "this image is too large: "
                                              : "this image is truncated or damaged: ") +
                     detail,
                 file.string(), remedy(kind)),
      kind_(kind),
      detail_(detail) {}

void check_pixels(const fs::path& file, std::span<const uint8_t> bytes, uint64_t max_pixels) {
  const auto pixels = announced_pixels(bytes);
  if (!pixels || *pixels <= max_pixels) return;
  throw ImageError(ImageError::Kind::too_large,
                   fmt::format("it has {} pixels, and at most {} are decoded", *pixels, max_pixels), file);
}

std::optional<ImageInfo> image_info(const fs::path& file, uint64_t max_pixels) {
  std::vector<uint8_t> bytes;
  std::optional<ImageHeader> header;
  if (stored_size(file).value_or(whole_file) > max_bytes) return std::nullopt;
  // A header is usually short, but a thumbnail, a colour profile or WebP's layout may put it far into
  // the file.
  for (uint64_t limit = 4 << 10; !header; limit = limit > (1 << 20) ? whole_file : limit * 16) {
    bytes = read_stored(file, 0, limit);
    header = parse_image_header(bytes);
    if (bytes.size() < limit || image_format(bytes) == ImageFormat::other) break;
  }
  if (header) {
    const cv::Size stored(header->width, header->height);
    return ImageInfo{header->transposed() ? cv::Size(stored.height, stored.width) : stored,
                     header->orientation};
  }
  if (bytes.empty()) return std::nullopt;
  try {
    return ImageInfo{read_image(file, {}, 3, max_pixels).size()};
  } catch (const ImageError&) {
    return std::nullopt;
  }
}

std::optional<cv::Size> image_size(const fs::path& file, uint64_t max_pixels) {
  const auto info = image_info(file, max_pixels);
  if (!info) return std::nullopt;
  return info->shown;
}

cv::Mat read_image(const fs::path& file, cv::Size at_least, int channels, uint64_t max_pixels) {
  BRIGHTNET_CHECK(channels == 1 || channels == 3, "images are grey or RGB");
  if (!is_stored(file)) throw ImageError(ImageError::Kind::missing, "there is no such file", file);
  check_bytes(file);
  const std::vector<uint8_t> bytes = read_stored(file, 0, whole_file);
  check_pixels(file, bytes, max_pixels);
  if (bytes.empty()) {
    if (stored_size(file) == 0) throw ImageError(ImageError::Kind::truncated, "the file is empty", file);
    throw ImageError(ImageError::Kind::missing, "no permission, or not a file", file);
  }
  const std::optional<ImageHeader> header = parse_image_header(bytes);
  if (image_format(bytes) == ImageFormat::jpeg)
    return read_jpeg(bytes, header.value_or(ImageHeader{}), at_least, channels, file);
  const cv::Mat image = read_by_opencv(bytes, channels, file);
  // TIFF's orientation is part of the format, and OpenCV has applied it, but not the EXIF of other formats.
  return upright(image, header ? header->orientation : 1);
}

bool has_end_mark(const fs::path& file) {
  const std::vector<uint8_t> head = read_stored(file, 0, 32);
  const ImageFormat format = image_format(head);
  if (is_animated_webp(head)) return false;
  if (format != ImageFormat::jpeg && format != ImageFormat::png) return true;
  const std::string_view mark = format == ImageFormat::jpeg ? "\xFF\xD9" : "IEND\xAE\x42\x60\x82";
  const std::vector<uint8_t> tail =
      read_stored(file, stored_size(file).value_or(0) - mark.size(), mark.size());
  return std::equal(tail.begin(), tail.end(), mark.begin(), mark.end(),
                    [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); });
}

std::string image_conversion(const fs::path& file) {
  const OptionalFormat* format = optional_format(file);
  return format ? how_to_convert(*format) : "";
}

bool is_clutter(const fs::path& file) {
  static constexpr std::array<std::string_view, 7> known{
      ".DS_Store", "__MACOSX", "Thumbs.db", ".AppleDouble", ".ipynb_checkpoints", "@eaDir", "$RECYCLE.BIN"};
  const std::string name = file.filename().string();
  return name.starts_with("._") || name.starts_with(".Trash") ||
         std::find(known.begin(), known.end(), name) != known.end();
}

bool is_image_name(const fs::path& file) {
  if (is_clutter(file)) return false;
  if (const OptionalFormat* format = optional_format(file)) {
    static std::map<const OptionalFormat*, bool> reads = [] {
      std::map<const OptionalFormat*, bool> all;
      for (const OptionalFormat& one : optional_formats()) all[&one] = opencv_reads(one);
      return all;
    }();
    return reads.at(format);
  }
  const std::string extension = lower_extension(file);
  static constexpr std::array<std::string_view, 14> known{".jpg", ".jpeg", ".jpe",  ".jfif", ".png",
                                                          ".bmp", ".dib",  ".webp", ".tif",  ".tiff",
                                                          ".ppm", ".pgm",  ".pnm",  ".jp2"};
  return std::find(known.begin(), known.end(), extension) != known.end();
}

}  // namespace brightnet
