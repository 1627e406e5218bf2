// The order of samples: the image at each position of an epoch, and the positions of each rank's batch.
#pragma once

#include <cstdint>
#include <vector>

namespace brightnet {

/// This rank and the number of ranks.
struct RankPart {
  int rank = 0, ranks = 1;
};

/// One sample of the run. (epoch, position) determine its random streams, so the sample does not depend
/// on the rank or thread that makes it.
struct SamplePosition {
  uint64_t epoch = 0, position = 0;
  int image = 0;     ///< index into the data set
  bool real = true;  ///< false: padding of an uneven tail
};

/// An epoch is a sequence of global batches (batch × ranks samples), and rank r takes the r-th contiguous
/// part of each. The images come in the order of a permutation drawn for the epoch. If the number of steps
/// follows from the data set, the last batch is padded from the start of the permutation; if it was given,
/// further permutations follow as needed, without padding.
class Sampler {
 public:
  Sampler(int images, int batch, RankPart part, uint64_t seed, uint64_t steps_per_epoch);

  uint64_t steps_per_epoch() const { return steps_; }
  /// This rank's batch number `step` of an epoch. Calls in order are cheap: the permutation is cached.
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
