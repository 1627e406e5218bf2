// `brightnet data shard`: a data set as tar archives, each with images and their labels side by side (the layout of
// WebDataset), for disks on which opening many files is slow.
#pragma once

#include <cstdint>
#include <filesystem>

#include "data/dataset.h"

namespace brightnet {

/// Writes FOLDER/SPLIT/000000.tar …: for each image its file, unchanged, and behind it NAME.txt with YOLO's labels. An archive
/// ends with the image that brings it to `bytes`. Training images come in a random order, the same in every call, since they
/// are read in sequence later; those of other splits in their own. The same data set gives the same bytes. Returns the number
/// of archives. Throws InputError when something cannot be read or written.
int shard_split(const Dataset& dataset, Split split, const std::filesystem::path& folder, uint64_t bytes);

}  // namespace brightnet
