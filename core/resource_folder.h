// Where the files that come with brightnet are: the models and the list of published weights.
#pragma once

#include <filesystem>

namespace brightnet {

/// The folder with models/ and weights.yaml: the one that was set, else share/brightnet of the installation that this
/// shared library belongs to. Empty when it is not found.
std::filesystem::path resource_folder();

/// For a program that has the library built in: the folder belongs to the program and not to a library.
void set_resource_folder(std::filesystem::path folder);

/// Of a program at this path: that of its installation, else configs/ beside it, as a program that was just built has it.
/// Empty when there is neither. Both are found from the program's place, so that an installation can be moved.
std::filesystem::path resource_folder_of(const std::filesystem::path& program);

}  // namespace brightnet
