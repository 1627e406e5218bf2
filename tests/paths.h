// Where the tests find the project's files and its program. Two functions rather than macros on every command
// line: test objects do not depend on where the tree lies, so a compiler cache serves any clone of it.
#pragma once

#include <filesystem>

namespace brightnet::testing {

std::filesystem::path source_dir();    ///< the project's root; $BRIGHTNET_SOURCE_DIR overrides it
std::filesystem::path program();       ///< the built `brightnet`
std::filesystem::path rank_program();  ///< what tests/distributed starts as ranks

}  // namespace brightnet::testing
