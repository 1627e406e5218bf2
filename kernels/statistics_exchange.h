// The all-reduce that synchronized batch-norm (Peng et al. 2018, §3.3) needs: sums over one rank's pixels
// become sums over all ranks'.
//
// Each fp64 number is a sum of few fp32 ones, so fp64 holds the totals exactly, or nearly so: rounded to fp32
// they are bit-identical however a batch is divided among the parts.
#pragma once

#include <cstddef>

namespace brightnet {

class StatisticsExchange {
 public:
  virtual ~StatisticsExchange() = default;
  /// The number of ranks. Each has a tensor of the same shape.
  virtual int parts() const = 0;
  /// This rank, from 0.
  virtual int part() const = 0;
  /// Replaces `count` fp64 numbers in device memory by their sums over all parts, bit-identical on each.
  /// Queued in order like any operation of the backend; every part must call it.
  virtual void sum(double* values, size_t count) = 0;
};

}  // namespace brightnet
