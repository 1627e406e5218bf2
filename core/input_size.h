// The size of a network's input: `size: 416`, `size: 416x736` or `size: [384, 1248]` in YAML, `--size 416x736`
// on the command line. The height comes first, as in a tensor's shape and in a matrix (PyTorch, Ultralytics'
// imgsz, OpenCV's rows and columns), and not as in an image's "1248 x 384".
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/auto.h"

namespace brightnet {

class Fields;

struct InputSize {
  int height = 0, width = 0;  ///< height and width in pixels; 0: none

  constexpr InputSize() = default;
  /// A square. The constructor is not explicit, because wherever a size is expected one number means a square.
  constexpr InputSize(int side) : height(side), width(side) {}
  constexpr InputSize(int height_, int width_) : height(height_), width(width_) {}

  constexpr bool given() const { return height > 0 && width > 0; }
  constexpr bool square() const { return height == width; }
  constexpr int longer() const { return height > width ? height : width; }
  constexpr int shorter() const { return height < width ? height : width; }
  constexpr int64_t pixels() const { return int64_t{height} * width; }
  constexpr bool multiple_of(int stride) const { return height % stride == 0 && width % stride == 0; }

  friend constexpr bool operator==(const InputSize&, const InputSize&) = default;
  /// Sizes are ordered by their number of pixels, so that the largest one is the most work.
  friend constexpr std::strong_ordering operator<=>(const InputSize& a, const InputSize& b) {
    if (const auto order = a.pixels() <=> b.pixels(); order != 0) return order;
    return a.height <=> b.height;
  }

  /// The size as parse_input_size() reads it: "416", or "384x1248".
  std::string text() const;
  /// The size as messages and reports show it: "416x416", or "384x1248 (height x width)".
  std::string described() const;
};

/// Reads "416" or "384x1248"; none for anything else.
std::optional<InputSize> parse_input_size(std::string_view text);

/// This ratio of height to width with the height `height`: both sides rounded to multiples of `stride`, at least one.
InputSize with_height(const InputSize& ratio, int height, int stride);

/// The sizes nearest to `size` whose sides are multiples of `stride`, for messages: "96 and 128", or
/// "384x1248 and 416x1248".
std::string nearest_input_sizes(const InputSize& size, int stride);

/// Fields of a YAML section. Sides outside [low, high] are an InputError; `none` also allows 0, which is no size.
struct InputSizeLimits {
  int low = 1, high = 8192;
  bool none = false;
};
void input_size_field(Fields& f, const char* key, InputSize& size, const InputSizeLimits& limits,
                      const char* doc);
/// A field of a size that may be automatic: it also reads and prints `auto`.
void input_size_field(Fields& f, const char* key, Auto<InputSize>& size, const InputSizeLimits& limits,
                      const char* doc);
void input_size_field(Fields& f, const char* key, std::vector<InputSize>& sizes,
                      const InputSizeLimits& limits, const char* doc);

/// JSON (nlohmann, found by its name): a square is one number, as it was before there were others; another size
/// is [height, width].
template <typename Json>
void to_json(Json& json, const InputSize& size) {
  if (size.square()) {
    json = size.height;
  } else {
    json = Json::array({size.height, size.width});
  }
}
template <typename Json>
void from_json(const Json& json, InputSize& size) {
  size = json.is_array() ? InputSize(json.at(0).template get<int>(), json.at(1).template get<int>())
                         : InputSize(json.template get<int>());
}

}  // namespace brightnet
