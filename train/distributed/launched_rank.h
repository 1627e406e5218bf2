// Detects whether this process is one of several ranks.
#pragma once

namespace brightnet {

/// How this process was started, according to its environment.
struct LaunchedRank {
  /// One of several ranks, according to the launcher.
  bool is_rank = false;
  /// Number of ranks; 0: unknown.
  int size = 0;
};
/// Reads the environment. Throws InputError in one of several processes of a launcher of another kind.
LaunchedRank launched_rank();

}  // namespace brightnet
