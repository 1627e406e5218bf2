#include "train/run/data_fingerprint.h"

#include <cmath>

#include <fmt/format.h>

#include "core/hash.h"
#include "core/text.h"

namespace brightnet {
namespace {

/// A coordinate in sixteenths of a pixel, so that rounding errors are not taken for a change.
int64_t place(float coordinate) {
  return std::llround(16.0 * coordinate);
}

}  // namespace

SplitFingerprint fingerprint(const Dataset& dataset) {
  SplitFingerprint print;
  for (const std::string& name : dataset.classes) print.hash = hash_text(name, print.hash);
  for (const ImageRecord& image : dataset.images) {
    ++print.images;
    print.hash = hash_text(image.file.filename().string(), print.hash);
    const int64_t size[] = {image.width, image.height};
    print.hash = hash_bytes(size, sizeof size, print.hash);
    for (const Annotation& a : image.annotations) {
      ++print.objects;
      const int64_t words[] = {place(a.x1), place(a.y1), place(a.x2), place(a.y2),
                               a.class_id,  a.crowd,     a.difficult};
      print.hash = hash_bytes(words, sizeof words, print.hash);
    }
  }
  return print;
}

std::string describe(const SplitFingerprint& print) {
  return fmt::format("{}, {}, {:016x}", counted(print.images, "image", "images"),
                     counted(print.objects, "object", "objects"), print.hash);
}

std::string describe_change(const SplitFingerprint& before, const SplitFingerprint& now) {
  if (before == now) return "";
  if (before.images == now.images && before.objects == now.objects) {
    return fmt::format("it has {} images with {} objects as before, but other names, sizes, boxes or classes",
                       now.images, now.objects);
  }
  return fmt::format("it had {} images with {} objects and now has {} with {}", before.images, before.objects,
                     now.images, now.objects);
}

}  // namespace brightnet
