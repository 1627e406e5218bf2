#include "core/resource_folder.h"

namespace brightnet {

namespace fs = std::filesystem;

// The folder is that of an installation, or the source's for a program that was just built. Both are found from the
// program's own place, so that an installation can be moved.
fs::path resource_folder() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed).parent_path();
  for (const fs::path& folder : {program / "../share/brightnet", program / "configs"}) {
    if (fs::is_directory(folder / "models", failed)) return folder.lexically_normal();
  }
  return {};
}

}  // namespace brightnet
