// One file over HTTP, by libcurl. Interrupted downloads are resumed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace brightnet {

struct TransferOptions {
  uint64_t bytes = 0;          ///< length of the file; another length at the address is an error. 0: any
  uint64_t most = UINT64_MAX;  ///< a longer file is an error as soon as that shows
  /// Called about once a second, also while nothing comes, with the bytes that are there and of the whole file (0: not
  /// known). Return false to stop.
  std::function<bool(uint64_t done, uint64_t all)> progress = {};
  int attempts = 6;       ///< attempts in a row without a new byte, after which it gives up
  double first_wait = 1;  ///< seconds before the second attempt; each further wait is twice as long
  double silence = 60;    ///< seconds without a byte after which a connection is given up
};

/// Downloads the file at `address` (http or https; redirections are followed) to the open file `descriptor`, whose
/// bytes are taken to be its beginning: they are not fetched again where the server can send the rest alone (a Range),
/// and overwritten where it cannot. A connection that is refused, reset or silent, and a server that is overloaded
/// (429, 5xx), are tried again. `name` is how messages call the file.
///
/// Throws Error with ExitCode::interrupted when `progress` stopped it, and InputError for what cannot be repaired by
/// waiting: no network, no such host, an unknown certificate, an answer other than the file (404, …), another length, a
/// full disk. What has come stays in the file.
void transfer(const std::string& address, int descriptor, const std::string& name,
              const TransferOptions& options);

}  // namespace brightnet
