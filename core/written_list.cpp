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

bool any_written(const fs::path& folder, const std::function<bool(const fs::path&)>& is) {
  return std::any_of(commands_with_list.begin(), commands_with_list.end(), [&](const char* command) {
    const fs::path list = written_list(folder, command);
    std::error_code failed;
    if (!fs::is_regular_file(list, failed)) return false;
    std::ifstream in = open_regular(list);
    for (std::string line; std::getline(in, line);) {
      const size_t space = line.find(' ');
      if (space != std::string::npos && is(line.substr(space + 1))) return true;
    }
    return false;
  });
}

}  // namespace brightnet
