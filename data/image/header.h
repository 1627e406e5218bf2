// Parses image headers. Reading the size of 100,000 images must not decode them, and the EXIF orientation
// must be the same when reading the size and the pixels, so both use this parser.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace brightnet {

/// The format of a file's content, not of its name: a PNG called .jpg is a PNG.
enum class ImageFormat { jpeg, png, webp, bmp, other };
ImageFormat image_format(std::span<const uint8_t> bytes);

struct ImageHeader {
  int width = 0, height = 0;  ///< size in pixels as stored, before the EXIF rotation
  int orientation = 1;        ///< EXIF 2.3, tag 0x0112, from 1 (upright) to 8
  /// Whether it is a JPEG that every decoder reads: 8 bits, baseline or progressive, Huffman-coded, grey or
  /// YCbCr with its chroma in full or half the resolution.
  bool usual_jpeg = false;
  bool grey = false;  ///< whether a JPEG has one component
  /// True when the orientation swaps width and height.
  bool transposed() const { return orientation >= 5; }
};

/// Reads the header of a JPEG, PNG, WebP or BMP from the beginning of its file. nullopt: another format, not
/// an image, or the header is longer than `bytes`.
std::optional<ImageHeader> parse_image_header(std::span<const uint8_t> bytes);

/// Whether this is the beginning of a WebP of several frames.
bool is_animated_webp(std::span<const uint8_t> bytes);

/// Width times height as the header announces them: of the formats above, TIFF, JPEG 2000, GIF, PNM and Sun raster.
/// nullopt: another format, or a header that is damaged or not within `bytes`.
std::optional<uint64_t> announced_pixels(std::span<const uint8_t> bytes);

/// Whether the fourth channel that OpenCV reads from this file, of `bits` a channel, is an alpha that its colours are yet
/// to be multiplied by. It is none in a BMP without a mask for it, nor in a TIFF whose ExtraSamples do not say so, such
/// as the infrared of an aerial picture.
bool has_alpha_to_blend(std::span<const uint8_t> bytes, int bits);

/// The value that OpenCV's pixels of `bits` bits, 8 or 16, have at full brightness: the largest of their type, but for a
/// PNM the one in its header, by which OpenCV scales some and not others.
double unscaled_maximum(std::span<const uint8_t> bytes, int bits);

/// Whether a TIFF's header says that 0 is white. OpenCV inverts those of 8 bits, and not those of 16.
bool is_white_at_zero(std::span<const uint8_t> bytes);

/// The orientation in an EXIF block (a TIFF header and its first directory); 1 when it has none or
/// is damaged.
int exif_orientation(std::span<const uint8_t> tiff);

}  // namespace brightnet
