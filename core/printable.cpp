#include "core/printable.h"

#include <streambuf>

#include <fmt/format.h>

#include "core/progress_line.h"

namespace brightnet {

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0u;
    const bool two_bytes = byte == 0xC2 && next >= 0x80 && next < 0xA0;
    if (two_bytes || byte == 0x7F || (byte < 0x20 && byte != '\n' && byte != '\t')) {
      shown += fmt::format("\\u{:04x}", two_bytes ? next : byte);
      i += two_bytes;
    } else {
      shown += text[i];
    }
  }
  return shown;
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

  /// All but the first byte of a character whose second is still to come.
  bool write_whole() { return write(waiting_.ends_with('\xC2') ? waiting_.size() - 1 : waiting_.size()); }
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
