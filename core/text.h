// Small pieces of text: read as people write them, written as people read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brightnet {

/// "1 image", "12 images".
std::string counted(uint64_t count, std::string_view one, std::string_view many);

/// The text without spaces, tabs and line ends around it.
std::string_view trimmed(std::string_view text);

/// The words of a line, which spaces and tabs separate.
std::vector<std::string_view> words(std::string_view line);

/// A finite decimal number and nothing else, whatever the locale; spaces around it are allowed.
std::optional<double> parse_number(std::string_view text);

}  // namespace brightnet
