// Converts text for OpenCV, which draws ASCII only, whereas class names may be in any script.
#pragma once

#include <string>
#include <vector>

namespace brightnet {

/// UTF-8 to ASCII: Latin letters lose their diacritics ("é" → "e", "ß" → "ss"), others become '?'.
std::string drawable(const std::string& words);

/// The name converted by drawable(), or "class 3" when that would lose characters.
std::string drawable_name(const std::string& name, int class_id);

/// A sentence that lists the classes shown by number and says why; empty when there are none.
std::string numbered_names(const std::vector<std::string>& names);

}  // namespace brightnet
