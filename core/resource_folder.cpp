#include "core/resource_folder.h"

#include <initializer_list>
#include <system_error>
#include <utility>

#include <dlfcn.h>

namespace brightnet {
namespace {

namespace fs = std::filesystem;

fs::path& folder_set() {
  static fs::path folder;
  return folder;
}

fs::path first_with_models(std::initializer_list<fs::path> folders) {
  std::error_code failed;
  for (const fs::path& folder : folders) {
    if (fs::is_directory(folder / "models", failed)) return folder.lexically_normal();
  }
  return {};
}

/// From PREFIX/lib/libbrightnet.so or, on Debian, PREFIX/lib/x86_64-linux-gnu/libbrightnet.so: from its real place, since the
/// loader may name it through a link, such as Debian's /lib.
fs::path folder_of_library() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&resource_folder), &info) == 0 || !info.dli_fname) return {};
  std::error_code failed;
  const fs::path folder = fs::canonical(info.dli_fname, failed).parent_path();
  return first_with_models({folder / "../share/brightnet", folder / "../../share/brightnet"});
}

}  // namespace

fs::path resource_folder() {
  return folder_set().empty() ? folder_of_library() : folder_set();
}

void set_resource_folder(fs::path folder) {
  folder_set() = std::move(folder);
}

fs::path resource_folder_of(const fs::path& program) {
  const fs::path folder = program.parent_path();
  return first_with_models({folder / "../share/brightnet", folder / "configs"});
}

}  // namespace brightnet
