#include "core/shared_library.h"

#include <filesystem>
#include <utility>

#include <dlfcn.h>
#include <link.h>

namespace brightnet {

SharedLibrary::SharedLibrary(std::string name, const std::vector<std::string>& folders)
    : name_(std::move(name)) {
  handle_ = ::dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) problem_ = ::dlerror();
  for (const auto& folder : folders) {
    if (handle_) break;
    const auto file = std::filesystem::path(folder) / name_;
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) continue;
    handle_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
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
