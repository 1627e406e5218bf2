// The order of samples: the image at each position of an epoch, and the positions of each rank's batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace brightnet {

class Random;

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
  /// Images that are read at about the same time, for those that a sample is made of beside its own. Empty: any will do.
  std::span<const uint32_t> nearby = {};
  std::shared_ptr<const std::vector<uint32_t>> order = {};  ///< owner of the memory of `nearby`
};

/// Images that are read in sequence, since they lie in archives.
struct ImageRuns {
  /// The first image of each run; the next run's begins where it ends. Empty: no runs.
  std::vector<uint32_t> first;
  uint32_t buffer = 0;  ///< images among which the next one is drawn
};

/// An epoch is a sequence of global batches (batch × ranks samples), and rank r takes the r-th contiguous
/// part of each. The images come in the order of a permutation drawn for the epoch. With runs it is one in which images of a
/// run stay near each other: the runs are permuted, and each next image is drawn from a buffer that is filled in
/// sequence. If the number of steps
/// follows from the data set, the last batch is padded from the start of the permutation; if it was given,
/// further permutations follow as needed, without padding.
class Sampler {
 public:
  Sampler(int images, int batch, RankPart part, uint64_t seed, uint64_t steps_per_epoch, ImageRuns runs = {});

  uint64_t steps_per_epoch() const { return steps_; }
  /// This rank's batch number `step` of an epoch. Calls in order are cheap: the permutation is cached.
  void batch(uint64_t epoch, uint64_t step, std::vector<SamplePosition>& samples);

 private:
  const std::vector<uint32_t>& permutation(uint64_t epoch, uint64_t round);
  std::vector<uint32_t> order_of_runs(Random& random) const;
  std::span<const uint32_t> nearby(uint64_t place) const;

  int images_, batch_;
  RankPart part_;
  uint64_t seed_, steps_;
  bool pads_;
  const ImageRuns runs_;
  std::shared_ptr<const std::vector<uint32_t>> order_;
  uint64_t order_epoch_ = 0, order_round_ = 0;
};

}  // namespace brightnet
