// Text from outside (names of files, classes and tensors) on its way to a terminal, which would obey control characters:
// change its title, clear what was said before, or answer as if somebody had typed.
#pragma once

#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

namespace brightnet {

/// The text with its control characters but line ends and tabs as \u001b, also those of two bytes in UTF-8 (U+0080 to
/// U+009F), and those that let a name be read backwards (U+202A to U+202E, U+2066 to U+2069). Within a string of JSON it
/// still means the same.
std::string printable(std::string_view text);

/// A word of a command line that is printed to be copied: in single quotes where a shell would read it otherwise.
std::string shell_quoted(const std::string& word);
/// The same for a path, which must not be taken for an option: ./-x.
std::string shell_path(const std::filesystem::path& path);

/// Makes all that is written to a stream printable, in the place of a progress line, for the lifetime of this object.
class PrintableOutput {
 public:
  explicit PrintableOutput(std::ostream& out);
  ~PrintableOutput();
  PrintableOutput(const PrintableOutput&) = delete;
  PrintableOutput& operator=(const PrintableOutput&) = delete;

 private:
  class Buffer;

  std::ostream& out_;
  std::unique_ptr<Buffer> buffer_;
  std::streambuf* before_;
};

}  // namespace brightnet
