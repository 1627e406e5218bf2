#include "train/run/report/letters.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace brightnet {
namespace {

/// A range of Unicode characters and their ASCII replacements, one each ('?': none).
struct Letters {
  char32_t first;
  std::string_view ascii;
};

constexpr std::array<Letters, 9> runs{{
    {0x0020,
     " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"},
    {0x00A0, " "},
    {0x00C0, "AAAAAA?CEEEEIIIIDNOOOOOxOUUUUY??aaaaaa?ceeeeiiiidnooooo?ouuuuy?y"},  // Latin-1
    {0x0100,
     "AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIi??JjKkkLlLlLlL"  // Latin Extended-A
     "lLlNnNnNnnNnOoOoOo??RrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZzs"},
    {0x01A0, "Oo"},
    {0x01AF, "Uu"},
    {0x0218, "SsTt"},
    {0x1EA0,
     "AaAaAaAaAaAaAaAaAaAaAaAaEeEeEeEeEeEeEeEeIiIi"  // Vietnamese
     "OoOoOoOoOoOoOoOoOoOoOoOoUuUuUuUuUuUuUuYyYyYyYy"},
    {0x2010, "------"},  // hyphens and dashes
}};

constexpr std::array<Letters, 9> ligatures{{{U'Æ', "AE"},
                                            {U'æ', "ae"},
                                            {U'Œ', "OE"},
                                            {U'œ', "oe"},
                                            {U'ß', "ss"},
                                            {U'Þ', "Th"},
                                            {U'þ', "th"},
                                            {U'Ĳ', "IJ"},
                                            {U'ĳ', "ij"}}};

/// The ASCII replacement of a character, if it has one.
std::optional<std::string> likeness(char32_t character) {
  if (character >= 0x0300 && character <= 0x036F) return "";  // a combining diacritic
  for (const Letters& ligature : ligatures) {
    if (character == ligature.first) return std::string(ligature.ascii);
  }
  for (const Letters& run : runs) {
    if (character < run.first || character - run.first >= run.ascii.size()) continue;
    const char letter = run.ascii[character - run.first];
    if (letter == '?' && character != U'?') return std::nullopt;
    return std::string(1, letter);
  }
  return std::nullopt;
}

/// Removes and returns the first character of a UTF-8 text; U+FFFD for an invalid byte.
char32_t next_character(std::string_view& text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const size_t length = byte(0) < 0x80             ? 1
                        : (byte(0) & 0xE0) == 0xC0 ? 2
                        : (byte(0) & 0xF0) == 0xE0 ? 3
                        : (byte(0) & 0xF8) == 0xF0 ? 4
                                                   : 0;
  char32_t character = length == 1 ? byte(0) : byte(0) & (0x7Fu >> length);
  bool whole = length > 0 && length <= text.size();
  for (size_t i = 1; whole && i < length; ++i) {
    whole = (byte(i) & 0xC0) == 0x80;
    character = (character << 6) | (byte(i) & 0x3Fu);
  }
  text.remove_prefix(whole ? length : 1);
  return whole ? character : 0xFFFD;
}

/// The text in ASCII, and whether every character had a replacement.
std::pair<std::string, bool> in_ascii(std::string_view text) {
  std::string letters;
  bool all = true;
  while (!text.empty()) {
    const auto ascii = likeness(next_character(text));
    letters += ascii.value_or("?");
    all = all && ascii;
  }
  return {letters, all};
}

}  // namespace

std::string drawable(const std::string& words) {
  return in_ascii(words).first;
}

std::string drawable_name(const std::string& name, int class_id) {
  auto [letters, all] = in_ascii(name);
  return all ? letters : fmt::format("class {}", class_id);
}

std::string numbered_names(const std::vector<std::string>& names) {
  constexpr int named = 3;
  int count = 0;
  std::string list;
  for (size_t i = 0; i < names.size(); ++i) {
    if (in_ascii(names[i]).second || ++count > named) continue;
    list += fmt::format("{}'{}' is class {}", list.empty() ? "" : ", ", names[i], i);
  }
  if (count == 0) return "";
  const std::string more = count > named ? fmt::format(" and {} more", count - named) : "";
  return "Pictures can show Latin letters only and number the other classes: " + list + more + '.';
}

}  // namespace brightnet
