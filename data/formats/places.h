// Where a split's images or labels are: data.root, data.train, data.val and data.test as paths.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/formats/read.h"

namespace brightnet {

/// The places that a split's key names: one, or each of a list, which DataOptions keeps as lines.
std::vector<std::string> listed_places(const std::string& place);

/// `data.train`, `data.val` or `data.test`. Throws InputError when it is not set.
std::string split_path(const DataOptions& options, Split split);

/// Throws InputError when the path named by the split's key does not exist.
void check_exists(const std::filesystem::path& place, Split split);

/// The place that the split's key names, below the first of the folders where it exists. Throws InputError
/// when it is at none of them, and when the key names a list of places.
std::filesystem::path split_place(const DataOptions& options, Split split,
                                  const std::vector<std::filesystem::path>& folders);
/// The places that the split's key names, for formats that take a list, each found as by split_place().
std::vector<std::filesystem::path> split_places(const DataOptions& options, Split split,
                                                const std::vector<std::filesystem::path>& folders);

/// The one file that the split's key names. Throws InputError for a folder, with `what` is expected instead.
std::filesystem::path split_file(const DataOptions& options, Split split, const char* what);

/// options.root; throws InputError when it is not a folder.
std::filesystem::path data_root(const DataOptions& options);

/// A file that another one names. A relative path starts at data.root, at that file's own folder, the folder above it,
/// or the current folder: the first where it exists. One that begins with data/ is looked for beside the file before all
/// of these: CVAT's exports have no such folder, and one nearby is of other data.
std::filesystem::path find_listed(const std::string& path, const std::filesystem::path& file,
                                  const DataOptions& options);

/// The images that a list file names, by find_listed().
std::vector<std::filesystem::path> read_image_list(const std::filesystem::path& list,
                                                   const DataOptions& options);

}  // namespace brightnet
