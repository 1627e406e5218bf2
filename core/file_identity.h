// Whether a path still leads to the same file or folder.
#pragma once

#include <filesystem>
#include <optional>
#include <utility>

#include <sys/stat.h>

namespace brightnet {

/// The device and inode of a file or folder.
using FileIdentity = std::pair<dev_t, ino_t>;

/// The identity of what is at `path`; none where there is nothing, or it cannot be looked at.
inline std::optional<FileIdentity> identity_of(const std::filesystem::path& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return std::nullopt;
  return FileIdentity(about.st_dev, about.st_ino);
}

}  // namespace brightnet
