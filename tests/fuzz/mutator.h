// Breaks a text or a file at a few places. What comes out follows from the number alone, so that a number is enough to
// repeat a finding.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "core/random.h"

namespace brightnet::testing {

class Mutator {
 public:
  /// `tokens`: what is inserted or put in a number's place, not empty.
  Mutator(uint64_t number, std::span<const char* const> tokens)
      : tokens_(tokens), random_(17, Purpose::test, 0, number) {}

  std::string mutate(std::string text) {
    for (uint64_t i = 1 + random_.below(3); i > 0 && !text.empty(); --i) change(text);
    return text;
  }

 private:
  size_t place(const std::string& text) { return random_.below(text.size()); }
  size_t line_start(const std::string& text) {
    const size_t before = text.rfind('\n', place(text));
    return before == std::string::npos ? 0 : before + 1;
  }
  static size_t line_end(const std::string& text, size_t start) {
    return std::min(text.find('\n', start), text.size() - 1) + 1;
  }

  void change(std::string& text) {
    const std::string token = tokens_[random_.below(tokens_.size())];
    const size_t at = place(text), start = line_start(text), end = line_end(text, start);
    switch (random_.below(8)) {
      case 0: text[at] = static_cast<char>(random_.below(256)); break;
      case 1: text.insert(at, token); break;
      case 2: text.erase(at, 1 + random_.below(8)); break;
      case 3: text.erase(start, end - start); break;
      case 4: text.insert(line_start(text), text.substr(start, end - start)); break;
      case 5: text.insert(start, token); break;
      case 6: replace_number(text, at, token); break;
      default: repeat_stretch(text, start, line_end(text, at)); break;
    }
  }
  static void replace_number(std::string& text, size_t at, const std::string& token) {
    const size_t begin = text.find_first_of("0123456789", at);
    if (begin == std::string::npos) return;
    const size_t end = std::min(text.find_first_not_of("0123456789.", begin), text.size());
    text.replace(begin, end - begin, token);
  }
  void repeat_stretch(std::string& text, size_t start, size_t end) {
    if (end <= start) return;
    const std::string stretch = text.substr(start, std::min<size_t>(end - start, 400));
    for (uint64_t i = random_.below(20); i > 0; --i) text.insert(start, stretch);
  }

  std::span<const char* const> tokens_;
  Random random_;
};

}  // namespace brightnet::testing
