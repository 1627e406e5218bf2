// Where the files that come with brightnet are.
#pragma once

#include <filesystem>

namespace brightnet {

/// The folder with models/ and weights.yaml; empty when it is not found.
std::filesystem::path resource_folder();

}  // namespace brightnet
