// Reads images of all common kinds: EXIF-rotated, grey, RGBA, 16-bit, CMYK, upper-case extensions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include <opencv2/core.hpp>

#include "core/error.h"
#include "core/library_version.h"

namespace brightnet {

/// A limit of the pixels that are decoded. Whoever opens files from elsewhere gives one: a PNG of 0.9 MB can have 900
/// million, which take 3.6 GB in memory. The images of a Dataset have been compared with it (data.max_pixels).
constexpr uint64_t usual_max_pixels = 200'000'000, any_pixels = std::numeric_limits<uint64_t>::max();

/// Width and height after EXIF rotation, from the file's header alone where the format allows it.
/// nullopt when it is not an image, or would have to be decoded and has more than `max_pixels`.
std::optional<cv::Size> image_size(const std::filesystem::path& file, uint64_t max_pixels = any_pixels);

/// An image's size after EXIF rotation, and the EXIF orientation (1 upright … 8) that led to it; 1 for
/// formats other than JPEG, PNG, WebP.
struct ImageInfo {
  cv::Size shown;
  int orientation = 1;
};
std::optional<ImageInfo> image_info(const std::filesystem::path& file, uint64_t max_pixels = any_pixels);

/// Decodes to 8-bit RGB with EXIF rotation applied: grey is copied to all channels, alpha is blended over
/// black, 16-bit is scaled (grey by its own range: docs/data.md), CMYK converted. `at_least`: when both sides
/// of the image are at least twice, four or eight times this size, a JPEG is decoded at 1/2, 1/4 or 1/8 (much
/// faster), as jpeg_reduction() decides; an empty size decodes in full. With `channels` 1 the image has one, its grey
/// (data/image/grey.h), and a coloured JPEG's is its luma. Throws ImageError for a missing, undecodable or truncated file,
/// and, before anything is decoded, for one whose header announces more than `max_pixels`.
cv::Mat read_image(const std::filesystem::path& file, cv::Size at_least = {}, int channels = 3,
                   uint64_t max_pixels = any_pixels);

/// The image with the EXIF orientation applied (1: unchanged … 8).
cv::Mat upright(const cv::Mat& image, int orientation);

/// An image file that cannot be used.
class ImageError : public InputError {
 public:
  enum class Kind { missing, undecodable, truncated, too_large };
  ImageError(Kind kind, const std::string& detail, const std::filesystem::path& file);
  Kind kind() const { return kind_; }
  /// One clause, without the file's name.
  const std::string& detail() const { return detail_; }

 private:
  Kind kind_;
  std::string detail_;
};

/// Throws ImageError for a file whose beginning, `bytes`, announces more than `max_pixels`.
void check_pixels(const std::filesystem::path& file, std::span<const uint8_t> bytes, uint64_t max_pixels);

/// False when a JPEG or PNG does not end with the format's end marker, which nearly always means a truncated
/// file; true for other formats, but for an animated WebP, of which some versions of OpenCV read nothing. This is much
/// cheaper than decoding.
bool has_end_mark(const std::filesystem::path& file);

/// True for what an operating system or a program puts into folders and archives beside the files of the user:
/// AppleDouble's ._NAME, .DS_Store, bins, Jupyter's and Synology's folders of copies, and the like. Only the last part
/// of the path counts: who walks through folders does not enter those.
bool is_clutter(const std::filesystem::path& file);

/// True for a name with an image's extension in any case (.jpg .jpeg .png .bmp .webp .tif .tiff .ppm …), also .gif and
/// .avif where this OpenCV was built to read them.
bool is_image_name(const std::filesystem::path& file);

/// How to convert an image that this OpenCV may not read, by the name of the file; empty for other files.
std::string image_conversion(const std::filesystem::path& file);

LibraryVersion opencv_version();

}  // namespace brightnet
