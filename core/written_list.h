// The list that a command keeps of the files that it wrote into a folder: a hidden file in it, a line "hash name" a file.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace brightnet {

/// FOLDER/.brightnet-COMMAND (".brightnet-data-show"), for the commands that keep such a list.
std::filesystem::path written_list(const std::filesystem::path& folder, const std::string& command);

/// Whether the list of any command in the folder names a file of which `is` holds.
bool any_written(const std::filesystem::path& folder,
                 const std::function<bool(const std::filesystem::path& name)>& is);

}  // namespace brightnet
