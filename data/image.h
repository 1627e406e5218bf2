// Reading images as people have them: EXIF-rotated, grey, RGBA, 16-bit, CMYK, upper-case extensions.
#pragma once

#include <filesystem>
#include <optional>

#include <opencv2/core.hpp>

namespace brightnet {

/// Width and height after EXIF rotation, from the file's header alone where the format allows it.
/// nullopt when it is not an image.
std::optional<cv::Size> image_size(const std::filesystem::path& file);

/// Decodes to 8-bit RGB with EXIF rotation applied: grey is spread over the channels, alpha is blended over
/// black, 16-bit is scaled, CMYK converted. `at_least`: when both sides of the image are at least twice, four
/// or eight times this size, a JPEG is decoded at 1/2, 1/4 or 1/8 (much faster); an empty size decodes in
/// full. Throws InputError for a missing, undecodable or truncated file.
cv::Mat read_image(const std::filesystem::path& file, cv::Size at_least = {});

/// True for a name that ends, in either case, as an image does (.jpg .jpeg .png .bmp .webp .tif .tiff .ppm
/// …).
bool is_image_name(const std::filesystem::path& file);

}  // namespace brightnet
