// Names of an enum's values, written once, beside the enum:
//
//   enum class Activation : uint8_t { linear, relu };
//   constexpr std::string_view enum_name(Activation activation) {
//     switch (activation) {
//       case Activation::linear: return "linear";
//       case Activation::relu: return "relu";
//     }
//     return {};
//   }
//
// The switch has no default, so the compiler reports a missing value. Reading, printing, lists of choices and
// other programs' formats all follow from that function. Values count up from 0 without a gap.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace brightnet {

/// An enum with an enum_name() in its own namespace.
template <typename Enum>
concept NamedEnum = std::is_enum_v<Enum> && requires(Enum value) {
  { enum_name(value) } -> std::convertible_to<std::string_view>;
};

/// All values, in order.
template <NamedEnum Enum>
std::vector<Enum> enum_values() {
  std::vector<Enum> values;
  for (int i = 0; !enum_name(static_cast<Enum>(i)).empty(); ++i) values.push_back(static_cast<Enum>(i));
  return values;
}

/// The names of all values, in order.
template <NamedEnum Enum>
std::vector<std::string> enum_names() {
  std::vector<std::string> names;
  for (const Enum value : enum_values<Enum>()) names.emplace_back(enum_name(value));
  return names;
}

/// The value with this name, if there is one.
template <NamedEnum Enum>
std::optional<Enum> enum_value(std::string_view name) {
  for (const Enum value : enum_values<Enum>()) {
    if (enum_name(value) == name) return value;
  }
  return std::nullopt;
}

}  // namespace brightnet
