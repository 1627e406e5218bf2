#include "data/image/header.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace brightnet {
namespace {

using Bytes = std::span<const uint8_t>;

bool matches(Bytes bytes, size_t offset, std::string_view text) {
  return offset + text.size() <= bytes.size() &&
         std::memcmp(bytes.data() + offset, text.data(), text.size()) == 0;
}

uint32_t big_endian(Bytes bytes, size_t offset, int count) {
  uint32_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | bytes[offset + i];
  return value;
}

uint32_t little_endian(Bytes bytes, size_t offset, int count) {
  uint32_t value = 0;
  for (int i = count; i-- > 0;) value = value << 8 | bytes[offset + i];
  return value;
}

std::optional<ImageHeader> checked(ImageHeader header) {
  if (header.width <= 0 || header.height <= 0) return std::nullopt;
  return header;
}

/// The frame of a JPEG (SOF): its size, and whether it is a usual one (ImageHeader::usual_jpeg).
void read_frame(Bytes frame, uint8_t code, ImageHeader& header) {
  header.height = static_cast<int>(big_endian(frame, 1, 2));
  header.width = static_cast<int>(big_endian(frame, 3, 2));
  const size_t components = frame[5];
  const bool baseline_or_progressive = code == 0xC0 || code == 0xC2;
  if (!baseline_or_progressive || frame[0] != 8 || frame.size() < 6 + 3 * components) return;
  header.grey = components == 1;
  if (components != 1 && components != 3) return;
  const auto identifier = [&](size_t component) { return frame[6 + 3 * component]; };
  const auto sampling = [&](size_t component) { return frame[7 + 3 * component]; };
  // libjpeg takes components of these names for RGB.
  const bool rgb = components == 3 && identifier(0) == 'R' && identifier(1) == 'G' && identifier(2) == 'B';
  const bool luma = sampling(0) == 0x11 || sampling(0) == 0x12 || sampling(0) == 0x21 || sampling(0) == 0x22;
  const bool chroma = components == 1 || (sampling(1) == 0x11 && sampling(2) == 0x11);
  header.usual_jpeg = !rgb && luma && chroma;
}

// ITU T.81, annex B: markers of FF and a code; all before the scan (SOS) carry a length that includes itself.
std::optional<ImageHeader> parse_jpeg(Bytes bytes) {
  ImageHeader header;
  bool exif_seen = false, adobe_rgb = false;
  for (size_t at = 2; at + 4 <= bytes.size();) {
    if (bytes[at] != 0xFF) {
      ++at;  // stray bytes between segments, which decoders step over too
      continue;
    }
    const uint8_t code = bytes[at + 1];
    if (code == 0xFF) {
      ++at;  // fill byte
      continue;
    }
    const bool without_length = code == 0x00 || code == 0x01 || (code >= 0xD0 && code <= 0xD8);
    if (without_length) {
      at += 2;
      continue;
    }
    if (code == 0xDA || code == 0xD9) {
      header.usual_jpeg = header.usual_jpeg && !adobe_rgb;
      return checked(header);
    }
    const size_t length = big_endian(bytes, at + 2, 2);
    const size_t payload = at + 4, end = at + 2 + length;
    if (length < 2 || end > bytes.size()) return std::nullopt;
    const bool frame = code >= 0xC0 && code <= 0xCF && code != 0xC4 && code != 0xC8 && code != 0xCC;
    if (frame && length >= 8) {
      read_frame(bytes.subspan(payload, end - payload), code, header);
    } else if (code == 0xEE && length >= 14 && matches(bytes, payload, "Adobe")) {
      adobe_rgb = bytes[payload + 11] == 0;
    } else if (code == 0xE1 && !exif_seen &&
               matches(bytes.first(end), payload, std::string_view("Exif\0\0", 6))) {
      header.orientation = exif_orientation(bytes.subspan(payload + 6, end - payload - 6));
      exif_seen = true;
    }
    at = end;
  }
  return std::nullopt;
}

// PNG: length, type, payload, CRC. An eXIf chunk counts when it comes before the pixels, where writers
// put it.
std::optional<ImageHeader> parse_png(Bytes bytes) {
  if (bytes.size() < 24 || !matches(bytes, 12, "IHDR")) return std::nullopt;
  ImageHeader header;
  header.width = static_cast<int>(big_endian(bytes, 16, 4));
  header.height = static_cast<int>(big_endian(bytes, 20, 4));
  for (size_t at = 8; at + 8 <= bytes.size();) {
    const size_t length = big_endian(bytes, at, 4);
    if (matches(bytes, at + 4, "IDAT")) return checked(header);
    if (at + 12 + length > bytes.size()) return std::nullopt;
    if (matches(bytes, at + 4, "eXIf")) header.orientation = exif_orientation(bytes.subspan(at + 8, length));
    at += 12 + length;
  }
  return std::nullopt;
}

// WebP: a RIFF of chunks padded to even length. The simple forms have no room for EXIF; VP8X says whether the
// file has it, and it then comes after the pixels.
std::optional<ImageHeader> parse_webp(Bytes bytes) {
  if (bytes.size() < 30) return std::nullopt;
  ImageHeader header;
  if (matches(bytes, 12, "VP8 ")) {
    header.width = static_cast<int>(little_endian(bytes, 26, 2) & 0x3FFF);
    header.height = static_cast<int>(little_endian(bytes, 28, 2) & 0x3FFF);
    return checked(header);
  }
  if (matches(bytes, 12, "VP8L")) {
    const uint32_t bits = little_endian(bytes, 21, 4);
    header.width = static_cast<int>((bits & 0x3FFF) + 1);
    header.height = static_cast<int>((bits >> 14 & 0x3FFF) + 1);
    return checked(header);
  }
  if (!matches(bytes, 12, "VP8X")) return std::nullopt;
  header.width = static_cast<int>(little_endian(bytes, 24, 3) + 1);
  header.height = static_cast<int>(little_endian(bytes, 27, 3) + 1);
  const bool has_exif = bytes[20] & 0x08;
  if (!has_exif) return header;
  for (size_t at = 12; at + 8 <= bytes.size();) {
    const size_t length = little_endian(bytes, at + 4, 4);
    if (at + 8 + length > bytes.size()) return std::nullopt;
    if (matches(bytes, at, "EXIF")) {
      Bytes block = bytes.subspan(at + 8, length);
      if (matches(block, 0, std::string_view("Exif\0\0", 6))) block = block.subspan(6);
      header.orientation = exif_orientation(block);
      return header;
    }
    at += 8 + length + length % 2;
  }
  return std::nullopt;
}

std::optional<ImageHeader> parse_bmp(Bytes bytes) {
  if (bytes.size() < 26) return std::nullopt;
  ImageHeader header;
  if (little_endian(bytes, 14, 4) == 12) {  // the OS/2 header has 16-bit sides
    header.width = static_cast<int>(little_endian(bytes, 18, 2));
    header.height = static_cast<int>(little_endian(bytes, 20, 2));
  } else {
    header.width = static_cast<int>(little_endian(bytes, 18, 4));
    const auto rows = static_cast<int32_t>(little_endian(bytes, 22, 4));  // negative: stored from the top
    header.height = rows == INT32_MIN ? 0 : std::abs(rows);
  }
  return checked(header);
}

// The sizes of other formats are read for announced_pixels() alone, as OpenCV's decoders read them.

/// The first directory of a TIFF or BigTIFF.
class TiffDirectory {
 public:
  explicit TiffDirectory(Bytes bytes) : bytes_(bytes), little_(matches(bytes, 0, "II")) {
    big_ = number(2, 2) == 43;
    at_ = big_ ? number(8, 8) : number(4, 4);
  }

  /// The value of a tag, the first one if it has several.
  std::optional<uint64_t> value(uint64_t tag) const {
    const size_t entries = std::min<uint64_t>(number(at_, big_ ? 8 : 2), 4096);
    std::optional<uint64_t> found;
    for (size_t i = 0; i < entries; ++i) {
      const size_t entry = at_ + (big_ ? 8 + 20 * i : 2 + 12 * i);
      const uint64_t type = number(entry + 2, 2);  // 3: 16 bits, 4: 32, 16: 64
      if (number(entry, 2) == tag)
        found = number(entry + (big_ ? 12 : 8), type == 3 ? 2 : type == 16 ? 8 : 4);
    }
    return found;
  }

 private:
  uint64_t number(size_t offset, int count) const {
    if (offset > bytes_.size() || bytes_.size() - offset < static_cast<size_t>(count)) return 0;
    if (count <= 4) return little_ ? little_endian(bytes_, offset, count) : big_endian(bytes_, offset, count);
    const uint64_t first = number(offset, 4), second = number(offset + 4, 4);
    return little_ ? second << 32 | first : first << 32 | second;
  }

  const Bytes bytes_;
  const bool little_;
  bool big_ = false;
  size_t at_ = 0;
};

bool is_tiff(Bytes bytes) {
  return matches(bytes, 0, "II") || matches(bytes, 0, "MM");
}

std::optional<uint64_t> tiff_pixels(Bytes bytes) {
  const TiffDirectory directory(bytes);
  const uint64_t width = directory.value(0x0100).value_or(0), height = directory.value(0x0101).value_or(0);
  if (width == 0 || height == 0) return std::nullopt;
  return width > UINT64_MAX / height ? UINT64_MAX : width * height;
}

bool is_pnm(Bytes bytes) {
  return bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6';
}

/// "P6", then width, height and (of P1 and P4 the first pixel instead) the largest value in digits; a line that begins
/// with # is a comment.
struct PnmHeader {
  uint64_t width = 0, height = 0, maximum = 0;
};

PnmHeader parse_pnm(Bytes bytes) {
  PnmHeader header;
  size_t at = 2;
  for (uint64_t* number : {&header.width, &header.height, &header.maximum}) {
    for (; at < bytes.size() && (std::isspace(bytes[at]) || bytes[at] == '#'); ++at) {
      if (bytes[at] == '#')
        at = static_cast<size_t>(std::find(bytes.begin() + static_cast<ptrdiff_t>(at), bytes.end(), '\n') -
                                 bytes.begin());
    }
    for (; at < bytes.size() && std::isdigit(bytes[at]) && *number < UINT32_MAX; ++at)
      *number = 10 * *number + (bytes[at] - '0');
  }
  return header;
}

std::optional<uint64_t> pnm_pixels(Bytes bytes) {
  const PnmHeader header = parse_pnm(bytes);
  const uint64_t pixels =
      std::min<uint64_t>(header.width, UINT32_MAX) * std::min<uint64_t>(header.height, UINT32_MAX);
  return pixels > 0 ? std::optional(pixels) : std::nullopt;
}

/// The size marker of a JPEG 2000 codestream, with or without a file format around it: the end of the reference
/// grid less its offset.
std::optional<uint64_t> jpeg2000_pixels(Bytes bytes) {
  constexpr std::string_view start = "\xFF\x4F\xFF\x51";
  const auto found = std::search(bytes.begin(), bytes.end(), start.begin(), start.end(),
                                 [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); });
  const auto at = static_cast<size_t>(found - bytes.begin());
  if (bytes.size() - at < 24) return std::nullopt;
  const uint64_t right = big_endian(bytes, at + 8, 4), bottom = big_endian(bytes, at + 12, 4),
                 left = big_endian(bytes, at + 16, 4), top = big_endian(bytes, at + 20, 4);
  if (right <= left || bottom <= top) return std::nullopt;
  return (right - left) * (bottom - top);
}

}  // namespace

ImageFormat image_format(Bytes bytes) {
  if (matches(bytes, 0, "\xFF\xD8\xFF")) return ImageFormat::jpeg;
  if (matches(bytes, 0, "\x89PNG\r\n\x1A\n")) return ImageFormat::png;
  if (matches(bytes, 0, "RIFF") && matches(bytes, 8, "WEBP")) return ImageFormat::webp;
  if (matches(bytes, 0, "BM")) return ImageFormat::bmp;
  return ImageFormat::other;
}

std::optional<ImageHeader> parse_image_header(Bytes bytes) {
  switch (image_format(bytes)) {
    case ImageFormat::jpeg: return parse_jpeg(bytes);
    case ImageFormat::png: return parse_png(bytes);
    case ImageFormat::webp: return parse_webp(bytes);
    case ImageFormat::bmp: return parse_bmp(bytes);
    case ImageFormat::other: break;
  }
  return std::nullopt;
}

bool is_animated_webp(Bytes bytes) {
  constexpr uint8_t animation = 0x02;
  return image_format(bytes) == ImageFormat::webp && matches(bytes, 12, "VP8X") && bytes.size() > 20 &&
         (bytes[20] & animation);
}

std::optional<uint64_t> announced_pixels(Bytes bytes) {
  if (const auto header = parse_image_header(bytes))
    return header->width * static_cast<uint64_t>(header->height);
  if (bytes.size() < 10) return std::nullopt;
  if (matches(bytes, 0, "GIF8")) return uint64_t{little_endian(bytes, 6, 2)} * little_endian(bytes, 8, 2);
  if (bytes.size() < 24) return std::nullopt;
  // A PNG whose chunks cannot be walked has its size in the same place.
  if (image_format(bytes) == ImageFormat::png)
    return uint64_t{big_endian(bytes, 16, 4)} * big_endian(bytes, 20, 4);
  if (is_tiff(bytes)) return tiff_pixels(bytes);
  if (matches(bytes, 0, "\x59\xA6\x6A\x95"))
    return uint64_t{big_endian(bytes, 4, 4)} * big_endian(bytes, 8, 4);
  if (is_pnm(bytes)) return pnm_pixels(bytes);
  if (matches(bytes, 4, "jP  ") || matches(bytes, 0, "\xFF\x4F\xFF\x51")) return jpeg2000_pixels(bytes);
  return std::nullopt;
}

bool has_alpha_to_blend(Bytes bytes, int bits) {
  if (image_format(bytes) == ImageFormat::bmp) {
    // A header of 56 bytes or more has a mask for alpha; by a shorter one, the fourth byte means nothing.
    constexpr size_t header_at = 14, mask_at = header_at + 52;
    return bytes.size() >= mask_at + 4 && little_endian(bytes, header_at, 4) >= 56 &&
           little_endian(bytes, mask_at, 4) != 0;
  }
  if (!is_tiff(bytes)) return true;
  const auto extra_samples = TiffDirectory(bytes).value(0x0152);
  if (!extra_samples) return true;  // as OpenCV writes alpha
  constexpr uint64_t unassociated_alpha = 2;
  return *extra_samples == unassociated_alpha && bits > 8;  // libtiff has multiplied those of 8 bits
}

double unscaled_maximum(Bytes bytes, int bits) {
  const double full = bits == 16 ? 65535 : 255;
  if (!is_pnm(bytes) || bytes[1] == '1' || bytes[1] == '4') return full;
  const bool scaled = bits == 8 && bytes[1] < '4';  // OpenCV does it for 8 bits in digits alone
  const double maximum = parse_pnm(bytes).maximum;
  return scaled || maximum < 1 || maximum > full ? full : maximum;
}

bool is_white_at_zero(Bytes bytes) {
  constexpr uint64_t photometric_interpretation = 0x0106;
  return is_tiff(bytes) && TiffDirectory(bytes).value(photometric_interpretation) == uint64_t{0};
}

int exif_orientation(Bytes tiff) {
  const bool little = matches(tiff, 0, std::string_view("II*\0", 4));
  if (!little && !matches(tiff, 0, std::string_view("MM\0*", 4))) return 1;
  const auto number = [&](size_t offset, int count) {
    return little ? little_endian(tiff, offset, count) : big_endian(tiff, offset, count);
  };
  if (tiff.size() < 8) return 1;
  const size_t directory = number(4, 4);
  if (directory + 2 > tiff.size()) return 1;
  const size_t entries = number(directory, 2);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + 12 * i;
    if (entry + 12 > tiff.size()) return 1;
    if (number(entry, 2) != 0x0112) continue;
    const uint32_t type = number(entry + 2, 2);
    constexpr uint32_t type_short = 3, type_long = 4;
    if (type != type_short && type != type_long) return 1;
    const uint32_t value = number(entry + 8, type == type_short ? 2 : 4);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace brightnet
