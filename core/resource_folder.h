// Where the files that come with brightnet are: the models and the list of published weights.
#pragma once

#include <filesystem>

namespace brightnet {

/// The folder with models/ and weights.yaml: the one that was set, else share/brightnet of the installation that this
/// shared library belongs to. Empty when it is not found.
std::filesystem::path resource_folder();

/// Sets the folder for a program that has the library built in: it belongs to the program, not to a library.
void set_resource_folder(std::filesystem::path folder);

/// A program's resource folder: that of its installation, else configs/ beside it, for one just built; empty
/// when neither is there. Both are found from the program's place, as an installation can be moved.
std::filesystem::path resource_folder_of(const std::filesystem::path& program);

}  // namespace brightnet
