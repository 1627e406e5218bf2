// A library that the program is linked with.
#pragma once

#include <string>

namespace brightnet {

struct LibraryVersion {
  std::string found, built_for;  ///< "2.6.3"; they differ when the system was updated since
};

}  // namespace brightnet
