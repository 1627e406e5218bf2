#include "train/setup/growing_sizes.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "train/config/config.h"

namespace brightnet {

std::vector<InputSize> growing_sizes(const InputSize& size, int stride) {
  constexpr double second_growing_size = 0.77;
  const auto rounded = [&](double side) {
    return std::max(1, static_cast<int>(std::lround(side / stride))) * stride;
  };
  std::vector<InputSize> sizes;
  for (const double part : {first_growing_size, second_growing_size}) {
    // The longer side follows from the rounded shorter one, of which rounding changes more.
    const double factor = static_cast<double>(rounded(part * size.shorter())) / size.shorter();
    const InputSize smaller(rounded(factor * size.height), rounded(factor * size.width));
    if (smaller < size && (sizes.empty() || sizes.back() < smaller) &&
        with_ratio_of(size, smaller) == smaller)
      sizes.push_back(smaller);
  }
  sizes.push_back(size);
  return sizes;
}

std::vector<InputSize> grown_to(const InputSize& size, std::vector<InputSize> given,
                                const std::string& where) {
  std::sort(given.begin(), given.end());
  if (size < given.back()) {
    throw InputError(
        fmt::format("the input grows through {}, and train.size is {}", sizes_text(given), size.text()),
        where,
        "Leave the larger sizes out, or raise train.size; with train.grow=0 they are drawn at random.");
  }
  if (given.back() < size) given.push_back(size);
  return given;
}

std::string sizes_text(const std::vector<InputSize>& sizes) {
  std::string text;
  for (const InputSize& each : sizes) text += (text.empty() ? "" : ", ") + each.text();
  return '[' + text + ']';
}

}  // namespace brightnet
