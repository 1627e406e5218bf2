// Where the tests find the project's files and its program. Functions rather than macros on every command
// line: test objects do not depend on where the tree lies, so a compiler cache serves any clone of it.
#pragma once

#include <filesystem>
#include <string>

namespace brightnet::testing {

std::filesystem::path source_dir();     ///< the project's root; $BRIGHTNET_SOURCE_DIR overrides it
std::filesystem::path program();        ///< the built `brightnet`
std::filesystem::path rank_program();   ///< what tests/distributed starts as ranks
std::filesystem::path unseen_window();  ///< what tests/end_to_end loads in place of OpenCV's windows
bool has_linked_codecs();               ///< whether the program loads OpenCV's codecs when it starts
std::string python();  ///< the one in .deps, if there is one; $BRIGHTNET_PYTHON names another

}  // namespace brightnet::testing
