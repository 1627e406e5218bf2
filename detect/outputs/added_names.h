// The images and videos of a run whose outputs were written, for finding what an earlier run left of them.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "detect/sources/frame_source.h"

namespace brightnet {

/// "dog" of "dog_12"; nothing where the text does not end in `_` and at least that many digits.
inline std::optional<std::string> before_number(const std::string& text, size_t digits) {
  const size_t at = text.rfind('_');
  if (at == std::string::npos || text.size() - at - 1 < digits) return std::nullopt;
  if (text.find_first_not_of("0123456789", at + 1) != std::string::npos) return std::nullopt;
  return text.substr(0, at);
}

class AddedNames {
 public:
  void add(const Frame& frame) {
    if (frame.clip) {
      clips_.insert(frame.clip->name);
    } else {
      images_.insert(frame.name);
    }
  }
  bool has_image(const std::string& name) const { return images_.contains(name); }
  /// Whether this is the name of a frame of one of the clips, also of one that was not added.
  bool has_frame(const std::string& name) const {
    const auto clip = before_number(name, 6);
    return clip && clips_.contains(*clip);
  }

 private:
  std::set<std::string> images_, clips_;
};

}  // namespace brightnet
