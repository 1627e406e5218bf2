#include "data/split/hash_index.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/error.h"

namespace brightnet {
namespace {

uint16_t band_of(uint64_t hash, int band, int bits) {
  return static_cast<uint16_t>(hash >> (band * bits));
}

}  // namespace

HashIndex::HashIndex(std::span<const uint64_t> hashes, int distance) : distance_(distance) {
  BRIGHTNET_CHECK(distance >= 0 && distance < 16, "a search for hashes that are too far apart");
  constexpr uint32_t values = 1u << band_bits;
  for (uint32_t value = 0; value < values; ++value) {
    if (std::popcount(value) <= distance / bands) flips_.push_back(static_cast<uint16_t>(value));
  }
  places_.resize(hashes.size());
  std::iota(places_.begin(), places_.end(), 0u);
  std::stable_sort(places_.begin(), places_.end(),
                   [&](uint32_t a, uint32_t b) { return hashes[a] < hashes[b]; });
  for (uint32_t i = 0; i < places_.size(); ++i) {
    const uint64_t hash = hashes[places_[i]];
    if (distinct_.empty() || distinct_.back().hash != hash) distinct_.push_back({hash, i, i});
    distinct_.back().end = i + 1;
  }
  for (int b = 0; b < bands; ++b) {
    Band& band = bands_[b];
    band.begin.assign(values + 1, 0);
    for (const Distinct& one : distinct_) ++band.begin[band_of(one.hash, b, band_bits) + 1];
    std::partial_sum(band.begin.begin(), band.begin.end(), band.begin.begin());
    band.places.resize(distinct_.size());
    std::vector<uint32_t> next(band.begin.begin(), band.begin.end() - 1);
    for (uint32_t i = 0; i < distinct_.size(); ++i)
      band.places[next[band_of(distinct_[i].hash, b, band_bits)]++] = i;
  }
}

void HashIndex::near(uint64_t hash, const std::function<void(size_t, int)>& visit) const {
  const int band_distance = distance_ / bands;
  for (int b = 0; b < bands; ++b) {
    const Band& band = bands_[b];
    const uint16_t value = band_of(hash, b, band_bits);
    for (const uint16_t flip : flips_) {
      const uint32_t slot = value ^ flip;
      for (uint32_t i = band.begin[slot]; i < band.begin[slot + 1]; ++i) {
        const Distinct& one = distinct_[band.places[i]];
        const int apart = std::popcount(one.hash ^ hash);
        if (apart > distance_) continue;
        // A hash that an earlier band finds as well has been visited there.
        bool seen = false;
        for (int before = 0; before < b && !seen; ++before) {
          const auto difference = band_of(one.hash ^ hash, before, band_bits);
          seen = std::popcount(difference) <= band_distance;
        }
        if (seen) continue;
        for (uint32_t k = one.begin; k < one.end; ++k) visit(places_[k], apart);
      }
    }
  }
}

}  // namespace brightnet
