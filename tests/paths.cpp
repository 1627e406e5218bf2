#include "tests/paths.h"

namespace brightnet::testing {

std::filesystem::path source_dir() {
  return BRIGHTNET_SOURCE_DIR;
}

std::filesystem::path program() {
  return BRIGHTNET_PROGRAM;
}

std::filesystem::path rank_program() {
  return BRIGHTNET_RANK_PROGRAM;
}

}  // namespace brightnet::testing
