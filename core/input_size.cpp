#include "core/input_size.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/config.h"
#include "core/text.h"

namespace brightnet {
namespace {

std::optional<int> parse_side(std::string_view text) {
  return text.starts_with('-') ? std::nullopt : parse_integer<int>(text);
}

[[noreturn]] void refuse(const char* key, const YamlValue& value) {
  const std::string is = value.node.IsScalar() ? " is '" + value.node.Scalar() + "'" : " is not a size";
  throw InputError(
      "'" + std::string(key) + "'" + is + ", and a size is one number (a square), or height and width",
      value.where(), "Write 416, 384x1248 or [384, 1248]: the height first.");
}

InputSize read_size(const char* key, const YamlValue& value, const InputSizeLimits& limits) {
  InputSize size;
  if (value.node.IsScalar()) {
    const auto parsed = parse_input_size(value.node.Scalar());
    if (!parsed) refuse(key, value);
    size = *parsed;
  } else {
    if (!value.node.IsSequence() || value.node.size() != 2) refuse(key, value);
    for (const auto& side : value.node) {
      if (!side.IsScalar() || !parse_side(side.Scalar())) refuse(key, value);
    }
    size = {*parse_side(value.node[0].Scalar()), *parse_side(value.node[1].Scalar())};
  }
  if (limits.none && size == InputSize(0)) return size;
  if (size.shorter() < limits.low || size.longer() > limits.high) {
    throw InputError("'" + std::string(key) + "' is " + size.text() + ", and its sides must be from " +
                         std::to_string(limits.low) + " to " + std::to_string(limits.high) + " pixels",
                     value.where());
  }
  return size;
}

YAML::Node print_size(const InputSize& size) {
  if (size.square()) return YAML::Node(size.height);
  YAML::Node sides(YAML::NodeType::Sequence);
  sides.push_back(size.height);
  sides.push_back(size.width);
  sides.SetStyle(YAML::EmitterStyle::Flow);
  return sides;
}

}  // namespace

std::string InputSize::text() const {
  return square() ? std::to_string(height) : std::to_string(height) + 'x' + std::to_string(width);
}

std::string InputSize::described() const {
  return std::to_string(height) + 'x' + std::to_string(width) + (square() ? "" : " (height x width)");
}

std::optional<InputSize> parse_input_size(std::string_view text) {
  const size_t cross = text.find('x');
  const auto height = parse_side(text.substr(0, cross));
  if (cross == std::string_view::npos) return height ? std::optional(InputSize(*height)) : std::nullopt;
  const auto width = parse_side(text.substr(cross + 1));
  return height && width ? std::optional(InputSize(*height, *width)) : std::nullopt;
}

InputSize with_height(const InputSize& ratio, int height, int stride) {
  const auto rounded = [stride](double side) {
    return std::max(1, static_cast<int>(std::lround(side / stride))) * stride;
  };
  return {rounded(height), rounded(static_cast<double>(height) * ratio.width / ratio.height)};
}

std::string nearest_input_sizes(const InputSize& size, int stride) {
  // Sides of a broken file may be anything, and so may a stride.
  const auto below = [stride](int side) { return std::max(side, 0) / stride * stride; };
  const auto above = [stride](int side) {
    const int64_t up = (std::max<int64_t>(side, 1) + stride - 1) / stride * stride;
    return static_cast<int>(std::min<int64_t>(up, std::numeric_limits<int>::max()));
  };
  // A square gets two suggestions, even where it is a multiple of the stride itself.
  const InputSize low(below(size.height), below(size.width));
  const InputSize high =
      size.square() ? InputSize(above(low.height + 1)) : InputSize(above(size.height), above(size.width));
  return (low.given() ? low.text() + " and " : "") + high.text();
}

void input_size_field(Fields& f, const char* key, InputSize& size, const InputSizeLimits& limits,
                      const char* doc) {
  f.custom(
      key, [&](const YamlValue& value) { size = read_size(key, value, limits); },
      [&] { return print_size(size); }, doc);
}

void input_size_field(Fields& f, const char* key, Auto<InputSize>& size, const InputSizeLimits& limits,
                      const char* doc) {
  f.custom(
      key,
      [&](const YamlValue& value) {
        const bool automatic = value.node.IsScalar() && value.node.Scalar() == "auto";
        size = automatic ? Auto<InputSize>() : Auto<InputSize>(read_size(key, value, limits));
      },
      [&] { return size.has_value() ? print_size(size.value()) : YAML::Node("auto"); }, doc);
}

void input_size_field(Fields& f, const char* key, std::vector<InputSize>& sizes,
                      const InputSizeLimits& limits, const char* doc) {
  f.custom(
      key,
      [&](const YamlValue& value) {
        if (!value.node.IsSequence()) {
          throw InputError("'" + std::string(key) + "' must be a list of sizes", value.where(),
                           "Write [320, 416, 512]; an empty list, [], is none.");
        }
        sizes.clear();
        for (const auto& item : value.node) sizes.push_back(read_size(key, {item, value.file}, limits));
      },
      [&] {
        YAML::Node list(YAML::NodeType::Sequence);
        list.SetStyle(YAML::EmitterStyle::Flow);
        for (const InputSize& size : sizes) list.push_back(print_size(size));
        return list;
      },
      doc);
}

}  // namespace brightnet
