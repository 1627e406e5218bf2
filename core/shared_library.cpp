#include "core/shared_library.h"

#include <filesystem>
#include <utility>

#include <dlfcn.h>
#include <link.h>

namespace brightnet {

std::string python_packages() {
  Dl_info info{};
  link_map* map = nullptr;
  const auto* here = reinterpret_cast<const void*>(&python_packages);
  if (::dladdr1(here, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) return "";
  std::error_code failed;
  // A program has no name there.
  return python_packages_above(
      *map->l_name ? map->l_name : std::filesystem::read_symlink("/proc/self/exe", failed).string());
}

std::string python_packages_above(const std::string& file) {
  for (std::filesystem::path folder = file; folder.has_relative_path(); folder = folder.parent_path()) {
    if (folder.filename() == "site-packages" || folder.filename() == "dist-packages") return folder.string();
  }
  return "";
}

SharedLibrary::SharedLibrary(std::string name, const std::vector<std::string>& folders, Symbols symbols)
    : name_(std::move(name)) {
  const int mode = RTLD_NOW | (symbols == Symbols::global ? RTLD_GLOBAL : RTLD_LOCAL);
  handle_ = ::dlopen(name_.c_str(), mode);
  if (!handle_) problem_ = ::dlerror();
  for (const auto& folder : folders) {
    if (handle_) break;
    const auto file = std::filesystem::path(folder) / name_;
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) continue;
    handle_ = ::dlopen(file.c_str(), mode);
    // The error of a file that exists and does not load is more useful than "not found".
    if (!handle_) problem_ = ::dlerror();
  }
  if (handle_) problem_.clear();
}

std::string SharedLibrary::path() const {
  link_map* map = nullptr;
  if (!handle_ || ::dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0) return "";
  return map->l_name;
}

void* SharedLibrary::symbol(const char* name) const {
  return handle_ ? ::dlsym(handle_, name) : nullptr;
}

}  // namespace brightnet
