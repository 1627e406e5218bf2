// Where sums over one rank's pixels become sums over all ranks': the one thing that synchronized batch-norm
// (Peng et al. 2018, §3.3) needs of what carries numbers between ranks.
//
// The sums are of fp64 numbers, which each stand for few fp32 ones: fp64 has the digits to hold such sums
// exactly, or nearly so, and what is made of them is the same to the last bit of fp32 however a batch is
// divided among the parts.
#pragma once

#include <cstddef>

namespace brightnet {

class StatisticsExchange {
 public:
  virtual ~StatisticsExchange() = default;
  /// The number of ranks that are summed over. Each has a tensor of the same shape.
  virtual int parts() const = 0;
  /// Which of them this one is, from 0.
  virtual int part() const = 0;
  /// Replaces `count` fp64 numbers in the device's memory by their sums over all parts, which are the same to
  /// the last bit on each of them. Like any operation of the backend it is queued after what came before it,
  /// and every part must call it.
  virtual void sum(double* values, size_t count) = 0;
};

}  // namespace brightnet
