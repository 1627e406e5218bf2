// Detects whether a resumed run's data have changed.
#pragma once

#include <string>

#include "data/dataset.h"

namespace brightnet {

/// A split's fingerprint, stored in a saved state.
struct SplitFingerprint {
  int64_t images = 0, objects = 0;
  /// A hash of image file names and sizes, boxes, and classes; not of the folder.
  uint64_t hash = 0;

  bool operator==(const SplitFingerprint&) const = default;
};

SplitFingerprint fingerprint(const Dataset& dataset);

/// "205 images, 2804 objects, 01e240f3a7bb5c19": the last is the hash.
std::string describe(const SplitFingerprint& print);

/// The change, as "it had 24 images with 60 objects and now has 19 with 45"; empty when there is none.
std::string describe_change(const SplitFingerprint& before, const SplitFingerprint& now);

}  // namespace brightnet
