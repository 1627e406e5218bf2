#include "tune/genetic.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"

namespace brightnet {
namespace {

constexpr size_t most_parents = 5;
constexpr float change_probability = 0.6f;
/// Draws after which a child may equal an earlier trial: no value can change where all are factors of 0.
constexpr int most_draws = 100;

std::vector<ScoredTrial> parents_among(std::span<const ScoredTrial> finished) {
  std::vector<ScoredTrial> parents;
  for (const ScoredTrial& trial : finished) {
    if (trial.score > 0) parents.push_back(trial);
  }
  std::sort(parents.begin(), parents.end(), [](const ScoredTrial& a, const ScoredTrial& b) {
    return a.score != b.score ? a.score > b.score : a.number < b.number;
  });
  if (parents.size() > most_parents) parents.resize(most_parents);
  return parents;
}

/// `parents` are sorted, best first.
const ScoredTrial& draw_parent(const std::vector<ScoredTrial>& parents, Random& random) {
  const double best = parents.front().score, worst = parents.back().score;
  const double least = best > worst ? (best - worst) / parents.size() : 1;
  double total = 0;
  for (const ScoredTrial& parent : parents) total += parent.score - worst + least;
  double place = random.uniform() * total;
  for (const ScoredTrial& parent : parents) {
    place -= parent.score - worst + least;
    if (place < 0) return parent;
  }
  return parents.back();
}

/// `configured` may lie outside the key's range, which it then widens.
double changed(const TunedKey& key, double value, double configured, double z) {
  const double next = is_ratio(key.kind) ? value * std::exp(key.spread * z) : value + key.spread * z;
  return rounded(key, std::clamp(next, std::min(key.low, configured), std::max(key.high, configured)));
}

bool is_new(const std::vector<double>& values, const std::vector<double>& configured,
            std::span<const ScoredTrial> finished) {
  return values != configured &&
         std::none_of(finished.begin(), finished.end(),
                      [&](const ScoredTrial& trial) { return trial.values == values; });
}

}  // namespace

Proposal propose(const std::vector<TunedKey>& keys, const std::vector<double>& configured,
                 std::span<const ScoredTrial> finished, uint64_t seed, int number) {
  Proposal proposal{configured, -1};
  if (number == 0) return proposal;
  Random random(seed, Purpose::tune, static_cast<uint64_t>(number));
  if (const auto parents = parents_among(finished); !parents.empty()) {
    const ScoredTrial& parent = draw_parent(parents, random);
    proposal = {parent.values, parent.number};
  }
  const std::vector<double> before = proposal.values;
  for (int draw = 0; draw < most_draws; ++draw) {
    for (size_t i = 0; i < keys.size(); ++i) {
      const bool changes = random.chance(change_probability);
      const double z = random.normal();
      proposal.values[i] = changes ? changed(keys[i], before[i], configured[i], z) : before[i];
    }
    if (is_new(proposal.values, configured, finished)) break;
  }
  return proposal;
}

}  // namespace brightnet
