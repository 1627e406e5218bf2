// Parsing and formatting small pieces of text.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace brightnet {

/// A number with its noun: "1 image", "12 images".
std::string counted(uint64_t count, std::string_view one, std::string_view many);

/// The names as "a, b, c"; of more than 20, the first 20 and "… and 95 more".
std::string enumerated(const std::vector<std::string>& names);

/// The text without leading and trailing spaces, tabs and line ends.
std::string_view trimmed(std::string_view text);

/// ASCII letters in lower case, and all others as they are.
std::string lower_case(std::string text);

/// The words of a line, separated by spaces and tabs.
std::vector<std::string_view> words(std::string_view line);

/// The fields of a line of a CSV file; those in double quotes may hold separators, and "" stands for ". nullopt where a quote
/// has no end.
std::optional<std::vector<std::string>> csv_fields(std::string_view line, char separator = ',');

/// A field of a CSV file, in double quotes where it needs them.
std::string csv_quoted(const std::string& field);

/// A finite decimal number, independent of the locale; surrounding spaces are allowed.
std::optional<double> parse_number(std::string_view text);

/// A whole decimal number that T can hold, and nothing else: no spaces, no '+', and a '-' only where T is signed.
template <std::integral T>
std::optional<T> parse_integer(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stopped, failed] = std::from_chars(text.data(), end, value);
  return failed == std::errc() && stopped == end ? std::optional(value) : std::nullopt;
}

/// The number with at least seven digits and as many more as it takes to read it back to the last bit: "0.1", "0.0012345679".
std::string exact_number(float value);

}  // namespace brightnet
