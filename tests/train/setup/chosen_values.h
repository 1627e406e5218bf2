// What is chosen for a run on a small machine, for tests.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "train/setup/automatic.h"

namespace brightnet::testing {

inline constexpr double gib = 1 << 30;

/// A machine with two cores and 16 GiB, on which this many images are trained from scratch.
inline RunFacts facts_of(int64_t images) {
  RunFacts facts;
  facts.images = images;
  facts.decoded_bytes = 3.0 * 640 * 480 * static_cast<double>(images);
  facts.device = {Precision::bf16, false, "it is fast here"};
  facts.small_box = 0.3;
  facts.free_memory = 16 * gib;
  facts.processors = facts.threads = 2;
  return facts;
}

inline RunConfig chosen(const RunFacts& facts, RunConfig config = {}) {
  choose_automatic(config, facts);
  return config;
}

inline const Choice& choice_of(const std::string& key, const std::vector<Choice>& choices) {
  const auto found =
      std::find_if(choices.begin(), choices.end(), [&](const Choice& c) { return c.key == key; });
  BRIGHTNET_CHECK(found != choices.end(), key + " was not chosen");
  return *found;
}

}  // namespace brightnet::testing
