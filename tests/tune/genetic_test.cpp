#include "tune/genetic.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

const std::vector<TunedKey>& all_kinds() {
  static const std::vector<TunedKey> keys{
      {"rate", KeyKind::factor, 1e-4, 0.1, 0.5},
      {"mosaic", KeyKind::share, 0, 1, 0.2},
      {"batch", KeyKind::integer, 1, 64, 0.5},
      {"off", KeyKind::factor, 0.1, 10, 0.5},
  };
  return keys;
}
const std::vector<double> configured{0.01, 0.9, 16, 0};

TEST(GeneticSearch, BeginsWithTheConfigurationAsItIs) {
  const std::vector<ScoredTrial> others{{3, {0.02, 0.5, 8, 0}, 0.9}};
  const Proposal first = propose(all_kinds(), configured, others, 5, 0);
  EXPECT_EQ(first.values, configured);
  EXPECT_EQ(first.parent, -1);
}

TEST(GeneticSearch, ChangesTheConfigurationUntilATrialHasAScore) {
  const std::vector<ScoredTrial> failed{{0, configured, 0}};
  for (int trial = 1; trial < 50; ++trial) {
    const Proposal proposal = propose(all_kinds(), configured, failed, 5, trial);
    EXPECT_EQ(proposal.parent, -1);
    EXPECT_NE(proposal.values, configured) << trial;
  }
}

TEST(GeneticSearch, StaysInTheRangesAndChangesEveryKindInItsWay) {
  double low[4] = {1e9, 1e9, 1e9, 1e9}, high[4] = {};
  std::vector<double> parent = configured;
  for (int trial = 1; trial < 2000; ++trial) {
    const std::vector<ScoredTrial> finished{{trial - 1, parent, 0.5}};
    const Proposal proposal = propose(all_kinds(), configured, finished, 1, trial);
    EXPECT_EQ(proposal.parent, trial - 1);
    parent = proposal.values;
    for (size_t i = 0; i < 4; ++i) {
      low[i] = std::min(low[i], parent[i]);
      high[i] = std::max(high[i], parent[i]);
    }
    EXPECT_EQ(parent[2], std::round(parent[2]));
  }
  EXPECT_EQ(low[0], 1e-4);
  EXPECT_EQ(high[0], 0.1);
  EXPECT_EQ(low[1], 0);  // a share leaves 0 again, a factor does not
  EXPECT_EQ(high[1], 1);
  EXPECT_EQ(low[2], 1);
  EXPECT_EQ(high[2], 64);
  EXPECT_EQ(high[3], 0);
}

TEST(GeneticSearch, AConfiguredValueOutsideTheRangeWidensIt) {
  const std::vector<double> outside{0.5, 0.9, 16, 0};
  bool above = false;
  for (int trial = 1; trial < 100; ++trial) {
    const double rate = propose(all_kinds(), outside, {}, 1, trial).values[0];
    EXPECT_LE(rate, 0.5);
    above |= rate > 0.25 && rate < 0.5;
  }
  EXPECT_TRUE(above);
}

TEST(GeneticSearch, DependsOnTheSeedTheTrialAndTheResultsButNotOnTheirOrder) {
  std::vector<ScoredTrial> finished;
  for (int i = 0; i < 8; ++i)
    finished.push_back({i, {0.001 * (i + 1), 0.1 * i, 8.0 + i, 0}, 0.1 + 0.01 * ((i * 5) % 8)});
  const auto values = [&](uint64_t seed, int trial) {
    return propose(all_kinds(), configured, finished, seed, trial).values;
  };
  const auto before = values(7, 9);
  EXPECT_EQ(values(7, 9), before);
  EXPECT_NE(values(8, 9), before);
  EXPECT_NE(values(7, 10), before);
  std::reverse(finished.begin(), finished.end());
  EXPECT_EQ(values(7, 9), before);
}

TEST(GeneticSearch, ChangesEachValueInThreeFifthsOfTheTrials) {
  const std::vector<ScoredTrial> finished{{0, {0.01, 0.5, 32, 0}, 0.5}};
  int changed = 0;
  double sum = 0, squares = 0;
  constexpr int trials = 3000;
  for (int trial = 1; trial <= trials; ++trial) {
    const double ratio = std::log(propose(all_kinds(), configured, finished, 3, trial).values[0] / 0.01);
    changed += ratio != 0;
    sum += ratio;
    squares += ratio * ratio;
  }
  // A trial in which nothing changes is drawn again: 0.6 / (1 − 0.4³).
  EXPECT_NEAR(changed / static_cast<double>(trials), 0.6 / (1 - 0.064), 0.03);
  EXPECT_NEAR(sum / changed, 0, 0.04);
  EXPECT_NEAR(std::sqrt(squares / changed), 0.5, 0.02);
}

TEST(GeneticSearch, DrawsTheBetterOfTheFiveBestMoreOften) {
  std::vector<ScoredTrial> finished;
  for (int i = 0; i < 8; ++i) finished.push_back({i, configured, i < 7 ? 0.1 * (i + 1) : 0.0});
  std::map<int, int> drawn;
  constexpr int trials = 4000;
  for (int trial = 10; trial < 10 + trials; ++trial)
    ++drawn[propose(all_kinds(), configured, finished, 11, trial).parent];
  // The best are 6 … 2 with scores 0.7 … 0.3: weights 0.4 … 0 more than the worst, plus 0.4 / 5 each.
  ASSERT_EQ(drawn.size(), 5u);
  for (int i = 2; i <= 6; ++i)
    EXPECT_NEAR(drawn[i] / static_cast<double>(trials), (0.1 * (i - 2) + 0.08) / 1.4, 0.025) << i;
}

TEST(GeneticSearch, TriesNothingTwiceWhileThereIsSomethingNew) {
  const std::vector<TunedKey> coarse{{"batch", KeyKind::integer, 1, 4, 1}};
  std::vector<ScoredTrial> finished{{0, {2}, 0.5}};
  for (int trial = 1; trial < 4; ++trial)
    finished.push_back({trial, propose(coarse, {2}, finished, 2, trial).values, 0.5});
  std::vector<double> seen;
  for (const auto& trial : finished) seen.push_back(trial.values[0]);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<double>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace brightnet
