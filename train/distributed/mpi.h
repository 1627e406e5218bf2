// Ranks connected by MPI. The training thread, the gradient bucket thread
// (train/distributed/mpi_collectives.h) and the watchdog each use a separate MPI communicator, which
// requires MPI_THREAD_MULTIPLE.
#pragma once

#include <functional>
#include <memory>

#include "train/distributed/communicator.h"
#include "train/distributed/mpi_collectives.h"
#include "train/distributed/watchdog.h"

namespace brightnet {

class MpiCommunicator : public Communicator {
 public:
  /// Initializes MPI, so a process can create only one.
  MpiCommunicator();
  /// Waits for all other ranks to be destroyed as well.
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }
  int sharing_cores() const override { return sharing_cores_; }

  void all_reduce(std::span<double> values) override;
  void broadcast(std::span<std::byte> bytes) override;
  std::vector<std::string> all_gather(std::string_view bytes) override;
  void barrier() override;

  DeviceCollectives& host_collectives() override { return *collectives_; }
  Watchdog* watchdog() override { return watchdog_.get(); }
  void set_time_limit(double seconds) override { watchdog_->set_limit(seconds); }
  [[noreturn]] void fail(const std::string& message, int exit_code) override;

  /// Makes an MPI call monitored by the watchdog; a failure aborts all ranks, with `what` in the message.
  void wait_in(Watchdog::Lane lane, const char* what, const std::function<int()>& call);

 private:
  std::vector<RankPlace> meet();
  [[noreturn]] void end(int exit_code);

  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1, sharing_cores_ = 1;
  MPI_Comm calls_ = nullptr, buckets_ = nullptr, watch_ = nullptr;
  std::unique_ptr<Watchdog> watchdog_;
  std::unique_ptr<MpiCollectives> collectives_;
};

/// A count as an int, in which MPI counts; a failed check where it is too large.
int mpi_count(size_t count);

}  // namespace brightnet
