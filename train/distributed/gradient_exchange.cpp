#include "train/distributed/gradient_exchange.h"

namespace brightnet {

std::vector<GradientBucket> cut_into_buckets(const ParameterLayout& layout, size_t bytes) {
  std::vector<GradientBucket> buckets;
  size_t end = layout.trainable_floats();
  const auto& entries = layout.entries();
  for (size_t i = entries.size(); i-- > 0;) {
    const ParameterEntry& entry = entries[i];
    if (entry.offset >= layout.trainable_floats()) continue;
    const bool begins_layer = i == 0 || entries[i - 1].layer != entry.layer;
    if (!begins_layer) continue;
    if (i > 0 && (end - entry.offset) * sizeof(float) < bytes) continue;
    buckets.push_back({entry.offset, end, entry.layer});
    end = entry.offset;
  }
  return buckets;
}

std::vector<FloatRange> trained_statistics(const ParameterLayout& layout) {
  std::vector<FloatRange> ranges;
  const auto& entries = layout.entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].offset < layout.trainable_floats() || entries[i].rate == 0) continue;
    const size_t end = i + 1 < entries.size() ? entries[i + 1].offset : layout.floats();
    if (!ranges.empty() && ranges.back().end == entries[i].offset) {
      ranges.back().end = end;
    } else {
      ranges.push_back({entries[i].offset, end});
    }
  }
  return ranges;
}

GradientExchange::GradientExchange(DeviceCollectives& collectives, const Parameters& parameters,
                                   const Options& options)
    : collectives_(collectives),
      parameters_(parameters),
      options_(options),
      buckets_(cut_into_buckets(*parameters.layout, options.bucket_bytes)),
      statistics_(trained_statistics(*parameters.layout)) {}

void GradientExchange::forward_done() {
  if (!options_.mean_statistics) return;
  for (const FloatRange& range : statistics_)
    collectives_.start_all_reduce(parameters_.values + range.begin, range.end - range.begin, Reduction::mean);
  if (!options_.overlap) collectives_.finish_all_reduces();
}

void GradientExchange::layer_done(int layer) {
  while (options_.overlap && next_ < buckets_.size() && buckets_[next_].first_layer >= layer) start_next();
}

std::vector<int> GradientExchange::stops() const {
  std::vector<int> layers;
  if (!options_.overlap) return layers;
  for (const GradientBucket& bucket : buckets_) layers.push_back(bucket.first_layer);
  return layers;
}

void GradientExchange::finish() {
  while (next_ < buckets_.size()) start_next();
  collectives_.finish_all_reduces();
  next_ = 0;
}

void GradientExchange::start_next() {
  const GradientBucket& bucket = buckets_[next_++];
  collectives_.start_all_reduce(parameters_.gradients + bucket.begin, bucket.end - bucket.begin,
                                Reduction::sum);
}

}  // namespace brightnet
