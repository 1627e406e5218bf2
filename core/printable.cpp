#include "core/printable.h"

#include <algorithm>
#include <cctype>
#include <streambuf>

#include <fmt/format.h>

#include "core/progress_line.h"

namespace brightnet {

namespace {

/// A control character, or one that turns the direction of the text behind it; no bytes: another character.
struct Control {
  size_t bytes = 0;
  unsigned number = 0;
};

Control control_at(std::string_view text) {
  const auto byte = [text](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0), second = byte(1), third = byte(2);
  if (first == 0x7F || (first < 0x20 && first != '\n' && first != '\t')) return {1, first};
  if (first == 0xC2 && second >= 0x80 && second < 0xA0) return {2, second};
  const bool embeds = second == 0x80 && third >= 0xAA && third <= 0xAE;    // U+202A to U+202E
  const bool isolates = second == 0x81 && third >= 0xA6 && third <= 0xA9;  // U+2066 to U+2069
  if (first == 0xE2 && (embeds || isolates)) return {3, 0x2000 | (second & 0x3F) << 6 | (third & 0x3F)};
  return {};
}

/// Bytes of a character at the end of the text that may be such a one and is not whole yet.
size_t unfinished_bytes(std::string_view text) {
  for (const std::string_view begun : {"\xE2\x80", "\xE2\x81", "\xE2", "\xC2"}) {
    if (text.ends_with(begun)) return begun.size();
  }
  return 0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const Control control = control_at(text);
    if (control.bytes > 0) {
      shown += fmt::format("\\u{:04x}", control.number);
    } else {
      shown += text[0];
    }
    text.remove_prefix(std::max<size_t>(1, control.bytes));
  }
  return shown;
}

std::string shell_quoted(const std::string& word) {
  const auto is_plain = [](char c) {
    const auto letter = static_cast<unsigned char>(c);
    return letter >= 0x80 || std::isalnum(letter) ||
           std::string_view("_./:=@%+,-").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + '\'';
}

std::string shell_path(const std::filesystem::path& path) {
  const std::string word = path.string();
  return shell_quoted(word.starts_with('-') ? "./" + word : word);
}

class PrintableOutput::Buffer : public std::streambuf {
 public:
  explicit Buffer(std::streambuf* to) : to_(to) {}
  ~Buffer() override { write(waiting_.size()); }

 protected:
  int_type overflow(int_type next) override {
    if (traits_type::eq_int_type(next, traits_type::eof())) return traits_type::not_eof(next);
    const char one = traits_type::to_char_type(next);
    return xsputn(&one, 1) == 1 ? next : traits_type::eof();
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    waiting_.append(text, static_cast<size_t>(count));
    return waiting_.size() < most || write_whole() ? count : 0;
  }
  int sync() override { return write_whole() && to_->pubsync() == 0 ? 0 : -1; }

 private:
  static constexpr size_t most = 1 << 14;

  /// All but the beginning of a character whose other bytes are still to come.
  bool write_whole() { return write(waiting_.size() - unfinished_bytes(waiting_)); }
  bool write(size_t bytes) {
    if (bytes > 0) ProgressLine::clear();
    const std::string shown = printable(std::string_view(waiting_).substr(0, bytes));
    waiting_.erase(0, bytes);
    return to_->sputn(shown.data(), static_cast<std::streamsize>(shown.size())) ==
           static_cast<std::streamsize>(shown.size());
  }

  std::streambuf* to_;
  std::string waiting_;
};

PrintableOutput::PrintableOutput(std::ostream& out)
    : out_(out), buffer_(std::make_unique<Buffer>(out.rdbuf())), before_(out.rdbuf(buffer_.get())) {}

PrintableOutput::~PrintableOutput() {
  out_.flush();
  out_.rdbuf(before_);
}

}  // namespace brightnet
