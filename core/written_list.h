// The list that a command keeps of the files that it wrote into a folder: a hidden file in it, a line "hash name" a file,
// where a line break in the name is "\n" and a backslash is doubled.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace brightnet {

/// FOLDER/.brightnet-COMMAND (".brightnet-data-show"), for the commands that keep such a list.
std::filesystem::path written_list(const std::filesystem::path& folder, const std::string& command);

struct WrittenFile {
  std::string hash, name;
};
/// A line of a list, with its end, and its parts again; nothing for a line that is none. `line` has no end.
std::string written_line(const WrittenFile& file);
std::optional<WrittenFile> parse_written_line(const std::string& line);

/// Whether the list of any command in the folder names a file of which `is` holds.
bool any_written(const std::filesystem::path& folder,
                 const std::function<bool(const std::filesystem::path& name)>& is);

}  // namespace brightnet
