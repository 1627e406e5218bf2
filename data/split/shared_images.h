// Images that are in two splits, found by what they contain.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/split/contents.h"

namespace brightnet {

/// The kind of likeness of two images: the same file, the same bytes, or a similar look.
enum class Sameness : uint8_t { file, bytes, look };

constexpr std::string_view enum_name(Sameness sameness) {
  switch (sameness) {
    case Sameness::file: return "file";
    case Sameness::bytes: return "bytes";
    case Sameness::look: return "look";
  }
  return {};
}

/// The images of a split that can be used, and their contents.
struct SplitContents {
  Split split;
  const std::vector<ImageRecord>& images;
  std::vector<ImageContent> contents;
};

struct SharedImage {
  Split split;
  std::filesystem::path file;
  Split other_split;  ///< the earlier split that has the image too
  std::filesystem::path other;
  Sameness sameness;
  int bits = 0;  ///< how many bits of the perceptual hashes differ
};

/// A sentence about the validation images that are trained on, by whatever path, without looking into the files; empty
/// when there is none.
std::string describe_trained_on(const Dataset& training, const Dataset& validation);

/// Each image of a split that an earlier split has too, with the one there that has most in common with it.
std::vector<SharedImage> find_shared_images(const std::vector<SplitContents>& splits);

}  // namespace brightnet
