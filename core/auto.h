// A setting that is either given or automatic. An automatic one is chosen from the data and the machine when
// both are known (train/setup/automatic.h); in YAML it is written `auto`.
//
//   Auto<int> batch;                 // automatic
//   batch = 8;                       // given
//   const int images = batch;        // its value; while automatic, a failed check
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/error.h"

namespace brightnet {

template <typename T>
class Auto {
 public:
  using Value = T;

  Auto() = default;
  /// Anything that converts to a T is a given value, so that one number makes an Auto<InputSize>.
  template <std::convertible_to<T> From>
  requires(!std::same_as<std::remove_cvref_t<From>, Auto>) Auto(From&& value)
      : value_(static_cast<T>(std::forward<From>(value))) {}

  bool has_value() const { return value_.has_value(); }
  const T& value() const {
    BRIGHTNET_CHECK(value_.has_value(), "an automatic setting is used before its value was chosen");
    return *value_;
  }
  operator const T&() const { return value(); }
  T value_or(T otherwise) const { return value_.value_or(std::move(otherwise)); }

 private:
  std::optional<T> value_;
};

}  // namespace brightnet
