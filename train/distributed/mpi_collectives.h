// All-reduces of tensors in host memory, through MPI.
//
// MPI makes progress only inside its calls, so overlap with the backward pass needs a dedicated thread: it
// reduces the buckets one after the other, in the order they were started. The training thread meanwhile uses
// another MPI communicator, for example for the sums of synchronized batch-norm.
//
// MPI_Allreduce gives every rank the same bits, and the same bits in every run with the same number of ranks.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "train/distributed/device_collectives.h"
#include "train/distributed/mpi_library.h"

namespace brightnet {

class MpiCommunicator;

class MpiCollectives : public DeviceCollectives {
 public:
  /// No one else uses `channel`; `ranks` outlives this object.
  MpiCollectives(MpiCommunicator& ranks, MPI_Comm channel);
  ~MpiCollectives() override;
  MpiCollectives(const MpiCollectives&) = delete;
  MpiCollectives& operator=(const MpiCollectives&) = delete;

  int parts() const override;
  int part() const override;
  void sum(double* values, size_t count) override;
  void start_all_reduce(float* values, size_t count, Reduction reduction) override;
  void finish_all_reduces() override;
  /// Nothing can interrupt MPI: the bucket that is being reduced is waited for, though not for long.
  void abandon() override;
  double waited_seconds() override { return waited_; }

 private:
  struct Bucket {
    float* values;
    size_t count;
    Reduction reduction;
  };

  void reduce_buckets();
  void reduce(const Bucket& bucket);

  MpiCommunicator& ranks_;
  MPI_Comm channel_;
  /// Written and read by the training thread.
  double waited_ = 0;

  std::mutex mutex_;
  std::condition_variable started_, finished_;
  /// Buckets not yet done; the first is being reduced.
  std::deque<Bucket> open_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace brightnet
