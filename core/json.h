// JSON for `--json` output and saved states.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace brightnet {

/// JSON that keeps keys in insertion order.
using Json = nlohmann::ordered_json;

/// Indented text ending in a newline. Bytes that are not UTF-8 (in file names, for example) are replaced.
std::string to_text(const Json& json);

/// The same on one line, without its end.
template <typename Any>
std::string to_line(const Any& json) {
  return json.dump(-1, ' ', false, Any::error_handler_t::replace);
}

/// What is read back of a text that to_text() or to_line() has written: the text itself where it is UTF-8.
std::string written_text(const std::string& text);

/// A whole number that fits into T, 3.0 too, as some programs write it: get<T>() takes any other number for some T as well.
/// Throws what get() throws.
template <std::integral T, typename Any>
T whole_number(const Any& json) {
  constexpr double exact = 1LL << 53;  // doubles have every whole number up to here
  const auto is_whole = [](double value) { return std::abs(value) <= exact && value == std::floor(value); };
  const bool fits = json.is_number_unsigned()  ? std::in_range<T>(json.template get<uint64_t>())
                    : json.is_number_integer() ? std::in_range<T>(json.template get<int64_t>())
                    : json.is_number_float()   ? is_whole(json.template get<double>()) &&
                                                   std::in_range<T>(json.template get<int64_t>())
                                             : false;
  if (!fits) throw nlohmann::detail::type_error::create(302, "this is no whole number in its range", &json);
  return json.template get<T>();
}

/// A number; NaN for null, which JSON writes for a number that is not finite.
template <typename Any>
double number_or_nan(const Any& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.template get<double>();
}

/// The shortest decimal number that reads back as the same float: 0.87, where the float's double would print
/// as 0.8700000047683716.
double shortest(float value);

}  // namespace brightnet
