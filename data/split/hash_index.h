// Finds hashes within a few bits of another without comparing all pairs: multi-index hashing (Norouzi,
// Punjani and Fleet 2012). Of four bands of 16 bits, one differs in at most a quarter of the bits in which
// two hashes differ, so only the hashes in nearby slots of a band's table are compared.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace brightnet {

class HashIndex {
 public:
  /// `distance`: the most bits in which two hashes differ that are found; at most 15.
  HashIndex(std::span<const uint64_t> hashes, int distance);

  /// Calls visit(place in `hashes`, distance) for every hash that is near, in no particular order. With
  /// hashes of 100,000 different images some hundred are compared.
  void near(uint64_t hash, const std::function<void(size_t, int)>& visit) const;

 private:
  static constexpr int bands = 4, band_bits = 16;
  struct Band {
    std::vector<uint32_t> begin;   // where the places of each value begin
    std::vector<uint32_t> places;  // indices into `distinct_`, ordered by the band's value
  };
  struct Distinct {
    uint64_t hash;
    uint32_t begin, end;  // a range of places_
  };

  int distance_;
  std::vector<uint16_t> flips_;  // all values of a band within distance / 4 bits of 0
  std::vector<Distinct> distinct_;
  std::vector<uint32_t> places_;  // indices into the caller's hashes, ordered by hash
  std::array<Band, bands> bands_;
};

}  // namespace brightnet
