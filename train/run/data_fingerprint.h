// Whether a resumed run still has the data it began with.
#pragma once

#include <string>

#include "data/dataset.h"

namespace brightnet {

/// What a saved state remembers of a split.
struct SplitFingerprint {
  int64_t images = 0, objects = 0;
  /// Of the images' names and sizes, their boxes, and the classes; not of the folder they are in.
  uint64_t hash = 0;

  bool operator==(const SplitFingerprint&) const = default;
};

SplitFingerprint fingerprint(const Dataset& dataset);

/// What has changed: "it had 24 images with 60 objects and now has 19 with 45"; empty when nothing has.
std::string describe_change(const SplitFingerprint& before, const SplitFingerprint& now);

}  // namespace brightnet
