#include "data/fold.h"

#include <charconv>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace brightnet {
namespace {

std::optional<int> whole_number(std::string_view text) {
  text = trimmed(text);
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, failed] = std::from_chars(text.data(), end, value);
  if (failed != std::errc() || stopped != end) return std::nullopt;
  return value;
}

}  // namespace

Fold parse_fold(const std::string& text, const std::string& where) {
  if (trimmed(text).empty()) return {};
  const std::string_view view = text;
  const size_t slash = view.find('/');
  if (slash != std::string_view::npos) {
    const auto part = whole_number(view.substr(0, slash)), count = whole_number(view.substr(slash + 1));
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
