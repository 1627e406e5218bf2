#include "core/random.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "core/error.h"

namespace brightnet {

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// The counter's first word counts blocks; epoch, sample and purpose fill the rest.
Random::Random(uint64_t seed, Purpose purpose, uint64_t epoch, uint64_t sample)
    : counter_{0, static_cast<uint32_t>(sample), static_cast<uint32_t>(epoch),
               static_cast<uint32_t>(purpose) ^ static_cast<uint32_t>((sample >> 32) << 16)},
      key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)} {}

Random::result_type Random::operator()() {
  if (used_ == 4) {
    block_ = philox4x32(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[used_++];
}

float Random::uniform() {
  return ((*this)() >> 8) * 0x1p-24f;
}

float Random::uniform(float low, float high) {
  return low + (high - low) * uniform();
}

uint32_t Random::below(uint32_t count) {
  BRIGHTNET_CHECK(count > 0, "Random::below(0)");
  return static_cast<uint32_t>((uint64_t{(*this)()} * count) >> 32);
}

void Random::shuffle(std::span<uint32_t> numbers) {  // Fisher and Yates
  for (size_t last = numbers.size(); last-- > 1;) std::swap(numbers[last], numbers[below(last + 1)]);
}

bool Random::chance(float probability) {
  return uniform() < probability;
}

float Random::normal() {
  const float radius = std::sqrt(-2.0f * std::log(1.0f - uniform()));
  return radius * std::cos(2.0f * std::numbers::pi_v<float> * uniform());
}

}  // namespace brightnet
