// Files as they are stored: by themselves, or as members of a tar archive (a shard), which is read in place. A member's path
// goes on below its archive: train/000003.tar/000123.jpg. A million small files on a network's disk then cost as many
// openings as there are archives.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace brightnet {

constexpr uint64_t tar_block = 512;  ///< headers and contents of a tar archive begin at multiples of it

/// A regular file in an archive.
struct TarMember {
  std::string name;           ///< path in the archive: a.jpg, also of one that was packed as ./a.jpg
  uint64_t at = 0, size = 0;  ///< place of its first byte in the archive, and number of bytes
};

/// The regular files in a tar archive and the hard links to them, in its order: POSIX's ustar and pax, and GNU's long
/// names. It is read anew only when the archive has changed. Throws InputError, with the place, for a file that is no tar
/// archive (a compressed one, for example), that ends within a member, or that has one whose name is absolute or leads above
/// the archive.
std::vector<TarMember> tar_members(const std::filesystem::path& archive);

/// Whether a name is a tar archive's, and not one of the files that systems put beside them.
bool is_tar_name(const std::filesystem::path& file);

/// The archive that a path leads into: "a/b.tar" of "a/b.tar/c/d.jpg". Empty for a file by itself, also in a folder that is
/// called like an archive.
std::filesystem::path archive_of(const std::filesystem::path& file);

/// Whether there is such a file or folder, or such a member.
bool is_stored(const std::filesystem::path& file);

/// The size of a regular file or of a member; none when there is no such file.
std::optional<uint64_t> stored_size(const std::filesystem::path& file);

/// The limit of bytes with which read_stored() reads a file to its end.
constexpr uint64_t whole_file = std::numeric_limits<uint64_t>::max();

/// Reads at most `limit` bytes from the byte `from` on; fewer at the end, none when the file cannot be read.
/// Thread-safe. Throws InputError when the archive has been replaced since its members were listed.
std::vector<uint8_t> read_stored(const std::filesystem::path& file, uint64_t from, uint64_t limit);

}  // namespace brightnet
