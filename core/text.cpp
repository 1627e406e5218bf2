#include "core/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace brightnet {

std::string counted(uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string enumerated(const std::vector<std::string>& names) {
  constexpr size_t most = 20;
  const size_t shown = std::min(most, names.size());
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown), ", "),
                     names.size() > most ? fmt::format(" … and {} more", names.size() - most) : "");
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks(" \t\r\n\v\f\0", 7);
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::optional<std::vector<std::string>> csv_fields(std::string_view line, char separator) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      const bool doubled = quoted && line.substr(i + 1).starts_with('"');
      if (doubled) fields.back() += line[i++];
      quoted = doubled || !quoted;
    } else if (line[i] == separator && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  if (quoted) return std::nullopt;
  for (std::string& field : fields) field = trimmed(field);
  return fields;
}

std::string csv_quoted(const std::string& field) {
  if (field.find_first_of(",\"") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  for (line = trimmed(line); !line.empty(); line = trimmed(line)) {
    const size_t end = std::min(line.find_first_of(" \t"), line.size());
    found.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return found;
}

std::optional<double> parse_number(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, failed] = std::from_chars(text.data(), end, value);
  if (failed != std::errc() || stopped != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string exact_number(float value) {
  constexpr int enough_digits = std::numeric_limits<float>::max_digits10;
  for (int digits = 7;; ++digits) {
    const std::string text = fmt::format("{:.{}g}", value, digits);
    float read = 0;
    std::from_chars(text.data(), text.data() + text.size(), read);
    if (read == value || digits >= enough_digits) return text;
  }
}

}  // namespace brightnet
