#include "core/written_list.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

constexpr std::array commands_with_list{"detect", "eval", "data show", "compare"};

}  // namespace

fs::path written_list(const fs::path& folder, const std::string& command) {
  const bool known =
      std::find(commands_with_list.begin(), commands_with_list.end(), command) != commands_with_list.end();
  BRIGHTNET_CHECK(known, "any_written() knows the command");
  std::string name = ".brightnet-" + command;
  std::replace(name.begin(), name.end(), ' ', '-');
  return folder / name;
}

std::string written_line(const WrittenFile& file) {
  std::string line = file.hash + ' ';
  for (const char c : file.name) {
    if (c == '\n') {
      line += "\\n";
    } else {
      line.append(c == '\\' ? 2 : 1, c);
    }
  }
  return line + '\n';
}

std::optional<WrittenFile> parse_written_line(const std::string& line) {
  const size_t space = line.find(' ');
  if (space == std::string::npos) return std::nullopt;
  WrittenFile file{.hash = line.substr(0, space), .name = {}};
  for (size_t i = space + 1; i < line.size(); ++i) {
    const char next = line[i] == '\\' && i + 1 < line.size() ? line[i + 1] : ' ';
    const bool is_escaped = next == 'n' || next == '\\';
    file.name += !is_escaped ? line[i] : next == 'n' ? '\n' : next;
    if (is_escaped) ++i;
  }
  return file;
}

bool any_written(const fs::path& folder, const std::function<bool(const fs::path&)>& is) {
  return std::any_of(commands_with_list.begin(), commands_with_list.end(), [&](const char* command) {
    const fs::path list = written_list(folder, command);
    std::error_code failed;
    if (!fs::is_regular_file(list, failed)) return false;
    std::ifstream in = open_regular(list);
    for (std::string line; std::getline(in, line);) {
      const auto file = parse_written_line(line);
      if (file && is(file->name)) return true;
    }
    return false;
  });
}

}  // namespace brightnet
