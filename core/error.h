// Errors that the user or the environment causes. Every error message is one of these, printed as one
// paragraph: what happened, where (file:line), what to do. Bugs are reported by BRIGHTNET_CHECK instead.
#pragma once

#include <algorithm>
#include <exception>
#include <string>

#include "brightnet/error.h"

namespace brightnet {

/// The message and the exit code for any other exception: the machine has no more memory or threads for the process, or a
/// file or folder cannot be used, which the user can change (2), or a bug in brightnet (1).
std::string describe_internal(const std::exception& problem);
ExitCode code_of_internal(const std::exception& problem);

/// Levenshtein distance, in single-character edits; upper and lower case are the same.
int edit_distance(const std::string& a, const std::string& b);

/// The known word nearest to `word` by edit distance, or "" when none is near enough to be a typing error: half of its
/// letters at most may differ. The dashes before an option are not counted as letters.
template <typename Words>
std::string nearest_word(const std::string& word, const Words& known) {
  std::string best;
  const size_t dashes = std::min(word.find_first_not_of('-'), word.size());
  int best_distance = 1 + static_cast<int>(word.size() - dashes) / 2;
  for (const auto& candidate : known) {
    const int distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& message);

/// An assertion that stays in release builds: throws std::logic_error (exit code 1).
#define BRIGHTNET_CHECK(condition, message)                                               \
  do {                                                                                    \
    if (!(condition)) ::brightnet::check_failed(#condition, __FILE__, __LINE__, message); \
  } while (false)

}  // namespace brightnet
