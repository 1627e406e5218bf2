// SHA-256 (FIPS 180-4), to compare a file with the hash that its publisher states. The algorithm is fixed and short; a
// cryptographic library would be one more dependency for these lines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace brightnet {

class Sha256 {
 public:
  void add(const void* data, size_t bytes);
  /// The digest of all bytes added, 64 lower-case hexadecimal digits. Nothing can be added afterwards.
  std::string hex();

 private:
  void mix(const uint8_t* block);

  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> block_{};
  uint64_t bytes_ = 0;
};

/// The digest of a whole file, as hex() writes it. Throws InputError when the file cannot be read.
std::string sha256_of(const std::filesystem::path& file);

}  // namespace brightnet
