// Ranges of the options that a program gives to the library; the command line checks its own by CLI11.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace brightnet {

/// The member functions throw InputError for a value outside of its range, where a NaN is.
class OptionRanges {
 public:
  /// `place`: the type or the function whose options they are. Errors name it.
  explicit OptionRanges(std::string place) : place_(std::move(place)) {}

  template <typename T>
  void at_least(std::type_identity_t<T> low, const char* name, T value) const {
    if (!(value >= low)) refuse(fmt::format("{} is {} and must be at least {}", name, value, low));
  }
  void above_zero(const char* name, double value) const {
    if (!(value > 0)) refuse(fmt::format("{} is {} and must be above 0", name, value));
  }
  template <typename T>
  void within(std::type_identity_t<T> low, std::type_identity_t<T> high, const char* name, T value) const {
    if (!(value >= low && value <= high))
      refuse(fmt::format("{} is {} and must be from {} to {}", name, value, low, high));
  }
  /// `height` and `width` of the network's input, which are both 0 where they are not given.
  void input_size(int height, int width) const;

  [[noreturn]] void refuse(const std::string& what, const std::string& remedy = "") const {
    throw InputError(what, place_, remedy);
  }

 private:
  std::string place_;
};

}  // namespace brightnet
