// Messages between the ranks of one run. A rank is a process: one for each GPU, or a few that share a
// CPU machine. All ranks make the same calls in the same order, and sums are bit-identical on all of
// them, so decisions based on them agree without further messages. Tensors are reduced by
// DeviceCollectives (train/distributed/device_collectives.h).
//
//   Solo  one rank, no messages                                train/distributed/solo.h
//   Mpi   ranks started by mpirun, srun or an MPIJob           train/distributed/mpi.h
//
// No rank waits forever: when one dies, fails or does not reach a call within the time limit, all are aborted
// with one message that names it and the cause (train/distributed/watchdog.h).
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

  /// This process's number, from 0.
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Index among the ranks of this machine, and their number; they determine this rank's GPU and cores.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;
  /// How many ranks, this one among them, share the cores that this one may use: those of this machine, unless a launcher
  /// has bound them to cores of their own.
  virtual int sharing_cores() const { return local_size(); }
  bool alone() const { return size() == 1; }
  /// Whether this is rank 0, which writes files and messages.
  bool leads() const { return rank() == 0; }

  // These block until done.

  /// Replaces each value by its sum over the ranks.
  virtual void all_reduce(std::span<double> values) = 0;
  /// Replaces the bytes by those of rank 0; the size is the same on every rank.
  virtual void broadcast(std::span<std::byte> bytes) = 0;
  /// The bytes of all ranks, in rank order; sizes may differ.
  virtual std::vector<std::string> all_gather(std::string_view bytes) = 0;
  virtual void barrier() = 0;

  /// Exchanges tensors in host memory. It lives as long as this communicator.
  virtual DeviceCollectives& host_collectives() = 0;
  /// Aborts all ranks when one of them goes missing; nullptr with a single rank. Device collectives (NCCL)
  /// report to it.
  virtual Watchdog* watchdog() = 0;
  /// Sets the limit: from now on a call that blocks for longer aborts the run.
  virtual void set_time_limit(double seconds) = 0;
  /// Reports why this rank cannot continue, unless another rank is already aborting the run, and aborts all
  /// ranks with this exit code. A single rank throws it as an Error.
  [[noreturn]] virtual void fail(const std::string& message, int exit_code) = 0;

  /// The communicator of a single-process run.
  static Communicator& solo();
};

/// Connects the ranks started by mpirun, srun or a Kubernetes MPIJob; Solo, without initializing MPI, when
/// this process was started otherwise. At most one at a time. Also divides cores among the ranks that may use the same
/// ones, unless OMP_NUM_THREADS is set. Throws DeviceError when MPI is unusable.
std::unique_ptr<Communicator> open_communicator();

/// Broadcasts one number or plain struct from rank 0.
template <typename T>
void broadcast_value(Communicator& communicator, T& value) {
  communicator.broadcast(std::as_writable_bytes(std::span(&value, 1)));
}

}  // namespace brightnet
