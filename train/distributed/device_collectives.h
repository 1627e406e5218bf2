// Sums over the ranks of tensors that lie in a device's memory: the gradient in buckets, and the statistics
// of synchronised batch-norm. They are queued after the backend's operations so far, all ranks ask for them
// in the same order, and each gets the same bits.
//
//   Solo  one rank, nothing to sum               train/distributed/solo.h
//   Mpi   tensors in host memory, through MPI    train/distributed/mpi_collectives.h
//   Nccl  tensors in GPU memory, through NCCL    train/distributed/nccl.h
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/statistics_exchange.h"

namespace brightnet {

enum class Reduction : uint8_t { sum, mean };

class DeviceCollectives : public StatisticsExchange {
 public:
  /// Starts to replace a bucket by its sum or mean over the ranks. It waits for the operations queued so far
  /// and later operations run beside it, but none may touch the bucket before finish_all_reduces().
  virtual void start_all_reduce(float* values, size_t count, Reduction reduction) = 0;
  /// The backend's next operations see the results of all that was started; on the CPU, this waits.
  virtual void finish_all_reduces() = 0;

  /// Seconds that the computation has waited for other ranks since the start. Asked for at both ends of
  /// a step.
  virtual double waited_seconds() = 0;
};

}  // namespace brightnet
