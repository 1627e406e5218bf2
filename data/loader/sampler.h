// The order of samples: which image each position of an epoch shows, and which positions make each
// rank's batch.
#pragma once

#include <cstdint>
#include <vector>

namespace brightnet {

/// Which part of the global order this rank draws.
struct RankPart {
  int rank = 0, ranks = 1;
};

/// One sample of the run. (epoch, position) names its random streams, so what is drawn for it does not depend
/// on the rank or thread that makes it.
struct SamplePosition {
  uint64_t epoch = 0, position = 0;
  int image = 0;     ///< index into the data set
  bool real = true;  ///< false: padding of an uneven tail
};

/// An epoch is a sequence of global batches (batch × ranks samples), and rank r takes the r-th contiguous
/// part of each. The images come in the order of a permutation drawn for the epoch. Where the number of steps
/// follows from the data set, the tail of the last batch is padding that starts the permutation over; where
/// it was given, further permutations follow as needed, and nothing is padding.
class Sampler {
 public:
  Sampler(int images, int batch, RankPart part, uint64_t seed, uint64_t steps_per_epoch);

  uint64_t steps_per_epoch() const { return steps_; }
  /// This rank's batch number `step` of an epoch. Calls in order are cheap: the permutation is kept.
  void batch(uint64_t epoch, uint64_t step, std::vector<SamplePosition>& samples);

 private:
  const std::vector<uint32_t>& permutation(uint64_t epoch, uint64_t round);

  int images_, batch_;
  RankPart part_;
  uint64_t seed_, steps_;
  bool pads_;
  std::vector<uint32_t> order_;
  uint64_t order_epoch_ = 0, order_round_ = 0;
};

}  // namespace brightnet
