// Sums of tensors in host memory, through MPI.
//
// MPI moves data only inside its own calls, so a bucket travels beside the backward pass only if a thread of
// its own sits in such a call: that thread takes buckets in the order they were started and reduces one after
// the other. The training thread meanwhile makes its own calls on another MPI communicator, among them the
// sums of synchronised batch-norm.
//
// MPI_Allreduce gives every rank the same bits, and the same bits in every run with the same number of ranks.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "train/distributed/device_collectives.h"
#include "train/distributed/mpi_header.h"

namespace brightnet {

class MpiCommunicator;

class MpiCollectives : public DeviceCollectives {
 public:
  /// `channel` is this object's alone; `ranks` outlives it.
  MpiCollectives(MpiCommunicator& ranks, MPI_Comm channel);
  ~MpiCollectives() override;
  MpiCollectives(const MpiCollectives&) = delete;
  MpiCollectives& operator=(const MpiCollectives&) = delete;

  int parts() const override;
  int part() const override;
  void sum(double* values, size_t count) override;
  void start_all_reduce(float* values, size_t count, Reduction reduction) override;
  void finish_all_reduces() override;
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
  /// Of the training thread.
  double waited_ = 0;

  std::mutex mutex_;
  std::condition_variable started_, finished_;
  /// The first is being reduced.
  std::deque<Bucket> open_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace brightnet
