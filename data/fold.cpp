#include "data/fold.h"

#include <string_view>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace brightnet {

Fold parse_fold(const std::string& text, const std::string& where) {
  if (trimmed(text).empty()) return {};
  const std::string_view view = text;
  const size_t slash = view.find('/');
  if (slash != std::string_view::npos) {
    const auto part = parse_integer<int>(trimmed(view.substr(0, slash)));
    const auto count = parse_integer<int>(trimmed(view.substr(slash + 1)));
    if (part && count && *count >= 2 && *part >= 1 && *part <= *count) return {*part, *count};
  }
  throw InputError(
      fmt::format("the fold is '{}' and must be K/N with N of at least 2 and K from 1 to N", text), where,
      "For five-fold cross-validation train with 1/5, 2/5, 3/5, 4/5 and 5/5.");
}

std::string to_text(const Fold& fold) {
  return fold ? fmt::format("{}/{}", fold.part, fold.count) : std::string();
}

}  // namespace brightnet
