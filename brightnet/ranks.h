// Processes that train or evaluate together, one for each GPU, which mpirun, srun or an MPIJob starts (docs/distributed.md).
#pragma once

#include <functional>
#include <memory>

#include "brightnet/public.h"

namespace brightnet {

class Communicator;

/// Whether a launcher started this process as one of several ranks. Throws InputError where one has that is not MPI's, such
/// as torchrun: each process would work alone.
BRIGHTNET_PUBLIC bool is_launched_rank();

/// This process among the others, or alone. At most one object at a time.
class BRIGHTNET_PUBLIC Ranks {
 public:
  /// Connects to the others, and divides a machine's cores among its ranks. `expected` of them were asked for; 0: any
  /// number. Throws DeviceError when MPI cannot be used, and what is_launched_rank() throws.
  explicit Ranks(int expected = 0);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  bool alone() const;
  /// Whether this is the first rank, which writes files and messages.
  bool leads() const;
  /// Does this rank's work and returns its exit code. Messages carry the rank's number; an error ends all ranks and is
  /// reported once. Alone, this is work().
  int run(const std::function<int()>& work);
  /// Runs `prepare` on every rank. When it throws on any of them, all throw an Error with the message of the lowest.
  void prepare(const std::function<void()>& prepare);

  /// Only the library itself calls this.
  Communicator& communicator() const { return *communicator_; }
  int expected() const { return expected_; }

 private:
  std::unique_ptr<Communicator> communicator_;
  int expected_;
};

}  // namespace brightnet
