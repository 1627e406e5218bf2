// Texts as OpenCV can draw them: its letters are ASCII's, and class names may be in any script.
#pragma once

#include <string>
#include <vector>

namespace brightnet {

/// UTF-8 in ASCII: Latin letters lose their marks ("é" → "e", "ß" → "ss"), any other character becomes '?'.
std::string drawable(const std::string& words);

/// The name as drawable() has it, or "class 3" where that would not show all of it.
std::string drawable_name(const std::string& name, int class_id);

/// Which classes pictures show by number and why, in a sentence; empty when there are none.
std::string numbered_names(const std::vector<std::string>& names);

}  // namespace brightnet
