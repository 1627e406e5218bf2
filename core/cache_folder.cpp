#include "core/cache_folder.h"

#include <cstdlib>

namespace brightnet {

std::filesystem::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::filesystem::path(cache) / "brightnet";
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::filesystem::path(home) / ".cache" / "brightnet";
  return {};
}

}  // namespace brightnet
