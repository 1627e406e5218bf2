// Messages between the ranks of one run. A rank is a process; there is one for each GPU, or a few that share
// a CPU machine. All make the same calls in the same order, and every sum comes out the same to the last bit
// on all of them, so that what they decide from it stays the same without further messages. Tensors travel
// through DeviceCollectives (train/distributed/device_collectives.h).
//
//   Solo  one rank, no messages                                train/distributed/solo.h
//   Mpi   ranks that mpirun, srun or a Kubernetes MPIJob made  train/distributed/mpi.h
//
// No rank waits for ever: one that dies, fails or does not come to a call within the time limit ends all of
// them, with one message that names it and the cause (train/distributed/watchdog.h).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/distributed/device_collectives.h"

namespace brightnet {

class Watchdog;

class Communicator {
 public:
  virtual ~Communicator() = default;

  /// From 0.
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Place among the ranks of the same machine, and their number: which GPU, and how many cores, are ours.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;
  bool alone() const { return size() == 1; }
  /// Whether this is the rank that writes files and messages.
  bool leads() const { return rank() == 0; }

  // These return when they are done.

  /// Replaces each value by its sum over the ranks.
  virtual void all_reduce(std::span<double> values) = 0;
  /// Replaces the bytes by those of rank `root`; as many on every rank.
  virtual void broadcast(std::span<std::byte> bytes, int root = 0) = 0;
  /// The bytes of all ranks, in the order of the ranks; each may give another number of them.
  virtual std::vector<std::string> all_gather(std::string_view bytes) = 0;
  virtual void barrier() = 0;

  /// For tensors in host memory. It lives as long as this communicator.
  virtual DeviceCollectives& host_collectives() = 0;
  /// Ends all ranks when one of them does not come; nullptr where there is no other rank. A device that sums
  /// over ranks by itself reports to it.
  virtual Watchdog* watchdog() = 0;
  /// From now on a call that lasts longer than this ends the run.
  virtual void set_time_limit(double seconds) = 0;
  /// Reports why this rank cannot continue, unless another is about to end the run for the same reason, and
  /// ends all of them with this exit code.
  [[noreturn]] virtual void fail(const std::string& message, int exit_code) = 0;

  /// The one rank of an ordinary run.
  static Communicator& solo();
};

/// The ranks that mpirun, srun or a Kubernetes MPIJob started this process among; Solo when it was started by
/// none of them, and then MPI is not even initialised. At most one at a time. Also divides a machine's cores
/// among its ranks, unless OMP_NUM_THREADS or a binding has done so. Throws DeviceError when this MPI cannot
/// be used.
std::unique_ptr<Communicator> open_communicator();

/// Broadcasts one number or plain struct from rank `root`.
template <typename T>
void broadcast_value(Communicator& communicator, T& value, int root = 0) {
  communicator.broadcast(std::as_writable_bytes(std::span(&value, 1)), root);
}

}  // namespace brightnet
