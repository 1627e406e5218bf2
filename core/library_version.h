// Versions of a library that the program is linked with.
#pragma once

#include <string>

namespace brightnet {

struct LibraryVersion {
  std::string found, built_for;  ///< versions, "2.6.3"; they differ after a system update
};

}  // namespace brightnet
