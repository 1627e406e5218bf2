// All-reduces of tensors in device memory: the gradient in buckets, and the statistics of synchronized
// batch-norm. They are queued after the backend's previous operations; all ranks queue them in the same order
// and get bit-identical results.
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

/// Whether the sum is divided by the number of ranks.
constexpr bool divides(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum: return false;
    case Reduction::mean: return true;
  }
  return false;
}

class DeviceCollectives : public StatisticsExchange {
 public:
  /// Starts to replace a bucket by its sum or mean over the ranks, after the operations queued so far and
  /// concurrently with later ones, none of which may touch the bucket before finish_all_reduces().
  virtual void start_all_reduce(float* values, size_t count, Reduction reduction) = 0;
  /// Orders the backend's next operations after all started all-reduces; on the CPU, this waits.
  virtual void finish_all_reduces() = 0;

  /// Gives up the all-reduces that were started, after an error of this rank alone: they, and with them
  /// whatever frees the device's memory, may otherwise wait forever. Nothing is summed afterwards.
  virtual void abandon() {}

  /// Seconds that the computation has waited for other ranks so far. Called before and after every step.
  virtual double waited_seconds() = 0;
};

}  // namespace brightnet
