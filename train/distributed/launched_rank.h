// Detects whether this process is one of several ranks.
#pragma once

namespace brightnet {

/// What the environment says about how this process was started.
struct LaunchedRank {
  /// One of several ranks, according to the launcher.
  bool is_rank = false;
  /// Number of ranks; 0: unknown.
  int size = 0;
};
/// Throws InputError in one of several processes that a launcher of another kind has started.
LaunchedRank launched_rank();

}  // namespace brightnet
