#include "data/loader/sampler.h"

#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/random.h"

namespace brightnet {

Sampler::Sampler(int images, int batch, RankPart part, uint64_t seed, uint64_t steps_per_epoch)
    : images_(images),
      batch_(batch),
      part_(part),
      seed_(seed),
      steps_(steps_per_epoch),
      pads_(steps_per_epoch == 0) {
  BRIGHTNET_CHECK(images > 0 && batch > 0, "a loader needs images and a batch of at least one");
  BRIGHTNET_CHECK(part.ranks > 0 && part.rank >= 0 && part.rank < part.ranks, "no such rank");
  const uint64_t global = static_cast<uint64_t>(batch) * static_cast<uint64_t>(part.ranks);
  if (pads_) steps_ = (static_cast<uint64_t>(images) + global - 1) / global;
}

const std::vector<uint32_t>& Sampler::permutation(uint64_t epoch, uint64_t round) {
  if (!order_.empty() && order_epoch_ == epoch && order_round_ == round) return order_;
  order_.resize(static_cast<size_t>(images_));
  std::iota(order_.begin(), order_.end(), 0u);
  Random random(seed_, Purpose::order, epoch, round);
  for (uint32_t last = static_cast<uint32_t>(images_) - 1; last > 0; --last) {  // Fisher and Yates
    std::swap(order_[last], order_[random.below(last + 1)]);
  }
  order_epoch_ = epoch;
  order_round_ = round;
  return order_;
}

void Sampler::batch(uint64_t epoch, uint64_t step, std::vector<SamplePosition>& samples) {
  samples.clear();
  const uint64_t images = static_cast<uint64_t>(images_);
  const uint64_t first = (step * static_cast<uint64_t>(part_.ranks) + static_cast<uint64_t>(part_.rank)) *
                         static_cast<uint64_t>(batch_);
  for (uint64_t position = first; position < first + static_cast<uint64_t>(batch_); ++position) {
    const uint64_t round = pads_ ? 0 : position / images;
    const auto& order = permutation(epoch, round);
    samples.push_back(
        {epoch, position, static_cast<int>(order[position % images]), !pads_ || position < images});
  }
}

}  // namespace brightnet
