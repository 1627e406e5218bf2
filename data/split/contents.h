// What an image contains, in two numbers: its bytes and its look. Neither depends on its name or folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace brightnet {

struct ImageContent {
  uint64_t bytes = 0;            ///< a hash of the file
  std::optional<uint64_t> look;  ///< perceptual_hash(); none when the image cannot be decoded
};

/// The hash of a file. Throws InputError when it cannot be read.
uint64_t bytes_hash(const std::filesystem::path& file);

/// Reads every image, JPEGs at a reduced size. Throws InputError for a file that cannot be read.
std::vector<ImageContent> image_contents(const std::vector<ImageRecord>& images);

/// Numbers the images' groups from 0, in the order of their first images. Images of the same bytes are in
/// one group and, if `similar`, so are images that look alike (within similar_bits), and those that look
/// like these.
std::vector<size_t> content_groups(std::span<const ImageContent> images, bool similar);

}  // namespace brightnet
