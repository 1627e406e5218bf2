// Ranks through MPI, with tensors in host memory.
//
// MPI moves data only inside its own calls, so a bucket travels beside the backward pass only if a thread of
// its own sits in such a call: that thread takes buckets in the order they were started and reduces one after
// the other. The training thread meanwhile makes its own calls on another communicator (synchronised
// batch-norm), and the watchdog on a third; therefore MPI must offer MPI_THREAD_MULTIPLE.
//
// MPI_Allreduce gives every rank the same bits, and the same bits in every run with the same number of ranks.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "train/distributed/communicator.h"
#include "train/distributed/watchdog.h"

namespace brightnet {

class MpiCommunicator : public Communicator {
 public:
  /// Initialises MPI, so there can be one in a program's life.
  MpiCommunicator();
  /// Waits for the other ranks to come here too.
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }

  void all_reduce(std::span<double> values) override;
  void broadcast(std::span<std::byte> bytes, int root) override;
  std::vector<std::string> all_gather(std::string_view bytes) override;
  void barrier() override;

  void sum(double* values, size_t count) override { all_reduce({values, count}); }
  void start_all_reduce(float* values, size_t count, Reduction reduction) override;
  void finish_all_reduces() override;

  double waited_seconds() override { return waited_; }
  void set_time_limit(double seconds) override { watchdog_->set_limit(seconds); }
  [[noreturn]] void fail(const std::string& message, int exit_code) override;

  Watchdog& watchdog() { return *watchdog_; }

 private:
  struct Bucket {
    float* values;
    size_t count;
    Reduction reduction;
  };

  std::vector<RankPlace> meet();
  [[noreturn]] void end(int exit_code);
  void reduce_buckets();
  void reduce(const Bucket& bucket);
  template <typename Call>
  void wait_in(const char* what, Call&& call);
  void check(int status, const char* what);

  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  MPI_Comm calls_ = MPI_COMM_NULL, buckets_ = MPI_COMM_NULL, watch_ = MPI_COMM_NULL;
  std::unique_ptr<Watchdog> watchdog_;
  double waited_ = 0;

  std::mutex mutex_;
  std::condition_variable started_, finished_;
  std::deque<Bucket> open_;  ///< the first is being reduced
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace brightnet
