#include "data/loader/sampler.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/random.h"

namespace brightnet {

Sampler::Sampler(int images, int batch, RankPart part, uint64_t seed, uint64_t steps_per_epoch,
                 ImageRuns runs)
    : images_(images),
      batch_(batch),
      part_(part),
      seed_(seed),
      steps_(steps_per_epoch),
      pads_(steps_per_epoch == 0),
      runs_(std::move(runs)) {
  BRIGHTNET_CHECK(images > 0 && batch > 0, "a loader needs images and a batch of at least one");
  BRIGHTNET_CHECK(part.ranks > 0 && part.rank >= 0 && part.rank < part.ranks, "no such rank");
  BRIGHTNET_CHECK(runs_.first.empty() || (runs_.first[0] == 0 && runs_.buffer > 0),
                  "runs begin at the first image and need a buffer");
  const uint64_t global = batch * static_cast<uint64_t>(part.ranks);
  if (pads_) steps_ = (images + global - 1) / global;
}

std::vector<uint32_t> Sampler::order_of_runs(Random& random) const {
  std::vector<uint32_t> runs(runs_.first.size());
  std::iota(runs.begin(), runs.end(), 0u);
  random.shuffle(runs);
  std::vector<uint32_t> order, buffer;
  for (const uint32_t run : runs) {
    const uint32_t end = run + 1 < runs.size() ? runs_.first[run + 1] : static_cast<uint32_t>(images_);
    for (uint32_t image = runs_.first[run]; image < end; ++image) {
      if (buffer.size() < runs_.buffer) {
        buffer.push_back(image);
      } else {
        order.push_back(std::exchange(buffer[random.below(runs_.buffer)], image));
      }
    }
  }
  random.shuffle(buffer);
  order.insert(order.end(), buffer.begin(), buffer.end());
  return order;
}

const std::vector<uint32_t>& Sampler::permutation(uint64_t epoch, uint64_t round) {
  if (order_ && order_epoch_ == epoch && order_round_ == round) return *order_;
  Random random(seed_, Purpose::order, epoch, round);
  std::vector<uint32_t> order;
  if (runs_.first.empty()) {
    order.resize(images_);
    std::iota(order.begin(), order.end(), 0u);
    random.shuffle(order);
  } else {
    order = order_of_runs(random);
  }
  order_ = std::make_shared<const std::vector<uint32_t>>(std::move(order));
  order_epoch_ = epoch;
  order_round_ = round;
  return *order_;
}

std::span<const uint32_t> Sampler::nearby(uint64_t place) const {
  const uint64_t size = std::min<uint64_t>(runs_.buffer, order_->size());
  const uint64_t from = std::min(place - std::min(place, size / 2), order_->size() - size);
  return std::span(*order_).subspan(from, size);
}

void Sampler::batch(uint64_t epoch, uint64_t step, std::vector<SamplePosition>& samples) {
  samples.clear();
  const uint64_t images = images_;
  const uint64_t first = (step * part_.ranks + part_.rank) * batch_;
  for (uint64_t position = first; position < first + batch_; ++position) {
    const uint64_t round = pads_ ? 0 : position / images, place = position % images;
    const auto& order = permutation(epoch, round);
    SamplePosition sample{epoch, position, static_cast<int>(order[place]), !pads_ || position < images};
    if (!runs_.first.empty()) {
      sample.nearby = nearby(place);
      sample.order = order_;
    }
    samples.push_back(std::move(sample));
  }
}

}  // namespace brightnet
