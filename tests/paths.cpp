#include "tests/paths.h"

#include <cstdlib>

namespace brightnet::testing {

// Tests that were built on another machine are told where the files are.
std::filesystem::path source_dir() {
  const char* moved = std::getenv("BRIGHTNET_SOURCE_DIR");
  return moved && *moved ? moved : BRIGHTNET_SOURCE_DIR;
}

std::filesystem::path program() {
  return BRIGHTNET_PROGRAM;
}

std::filesystem::path rank_program() {
  return BRIGHTNET_RANK_PROGRAM;
}

std::filesystem::path unseen_window() {
  return BRIGHTNET_UNSEEN_WINDOW;
}

bool has_linked_codecs() {
#ifdef BRIGHTNET_LINKED_CODECS
  return true;
#else
  return false;
#endif
}

std::string python() {
  const char* named = std::getenv("BRIGHTNET_PYTHON");
  return named && *named ? named : BRIGHTNET_TEST_PYTHON;
}

}  // namespace brightnet::testing
