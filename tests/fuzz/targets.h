// What is fuzzed: each reader of users' files, with files that it takes (tests/fuzz/contents.h).
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace brightnet::testing {

struct FuzzTarget {
  std::string name;                     ///< "coco"
  std::string file;                     ///< the broken file's path in the folder
  std::vector<std::string> corpus;      ///< contents that the reader takes
  std::span<const char* const> tokens;  ///< of the Mutator
  /// Writes what else the reader wants into the folder, once.
  std::function<void(const std::filesystem::path& folder)> prepare;
  /// Reads the file. An InputError is the right answer to a broken one; anything else is a finding.
  std::function<void(const std::filesystem::path& folder)> read;

  /// Without waiting for the disk, as atomic writing does: that would take a hundred times as long as reading.
  void write(const std::filesystem::path& folder, const std::string& content) const;
  /// The content of input `number`.
  std::string input(uint64_t number) const;
  /// What searches before have found to reach more of the reader, from tests/fuzz/corpus/NAME. It may refuse them.
  std::vector<std::string> found() const;
};

/// All of them.
const std::vector<FuzzTarget>& fuzz_targets();
/// The one of this name, the planted one included. Throws InputError where there is none.
const FuzzTarget& fuzz_target(const std::string& name);
/// One that aborts, throws or waits for ever on some inputs, to test the search itself; not among the others.
const FuzzTarget& planted_target();

}  // namespace brightnet::testing
