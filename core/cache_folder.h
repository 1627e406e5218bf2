// Where brightnet keeps what it may fetch or measure again.
#pragma once

#include <filesystem>

namespace brightnet {

/// $XDG_CACHE_HOME/brightnet, or ~/.cache/brightnet; empty without a home. It need not exist.
std::filesystem::path cache_folder();

}  // namespace brightnet
