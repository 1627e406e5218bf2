// Counter-based random numbers (Philox4x32-10, Salmon et al. 2011). A stream is keyed by (seed, epoch,
// sample, purpose), so its numbers do not depend on the number of workers or ranks, or on a resume.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace brightnet {

/// What a stream is used for; part of its key, so that two uses never share numbers.
enum class Purpose : uint32_t {
  tune = 0,
  weights = 1,
  order = 2,
  augment = 3,
  mosaic = 4,
  synth = 5,
  size = 6,
  test = 7,
  anchors = 8,
  geometry = 9,
  pixels = 10,
  paste = 11,
  cutmix = 12,
  cutout = 13,
  tiles = 14
};

/// One block of Philox4x32-10: four 32-bit words from a 128-bit counter and a 64-bit key.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// A stream of numbers, determined by its key. Satisfies UniformRandomBitGenerator, but draw with the members
/// below: the standard distributions differ between standard libraries.
class Random {
 public:
  using result_type = uint32_t;

  Random(uint64_t seed, Purpose purpose, uint64_t epoch = 0, uint64_t sample = 0);

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return UINT32_MAX; }
  result_type operator()();

  /// Uniform in [0, 1), 24 bits.
  float uniform();
  /// Uniform in [low, high).
  float uniform(float low, float high);
  /// Uniform integer in [0, count); count must be positive.
  uint32_t below(uint32_t count);
  /// Puts the numbers into a random order.
  void shuffle(std::span<uint32_t> numbers);
  /// True with the given probability.
  bool chance(float probability);
  /// Standard normal (Box–Muller).
  float normal();

 private:
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;
};

}  // namespace brightnet
