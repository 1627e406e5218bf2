#include "kernels/cuda/timed_choice.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace brightnet::cuda {
namespace {

/// Engines of a device whose clock goes on only when one is built and run.
class FakeEngines {
 public:
  /// Its place among the candidates; `build`: seconds, `milliseconds`: of a run, negative when it does not run.
  size_t add(float milliseconds, double build = 0.001, bool compiled = false) {
    const size_t place = candidates_.size();
    runs_.push_back(0);
    candidates_.push_back({compiled, [=, this](float hopeless) {
                             ++runs_[place];
                             now_ += build;
                             if (milliseconds < 0) return milliseconds;
                             // As fastest_run(): two runs, and three rounds of four.
                             now_ += 1e-3 * milliseconds * (milliseconds < hopeless ? 14 : 2);
                             return milliseconds;
                           }});
    return place;
  }
  const std::vector<Candidate>& candidates() const { return candidates_; }
  TimingBudget budget(double seconds) {
    return TimingBudget(seconds, [this] { return now_; });
  }
  int runs(size_t place) const { return runs_[place]; }
  int timed() const {
    return static_cast<int>(std::count_if(runs_.begin(), runs_.end(), [](int runs) { return runs > 0; }));
  }
  double now() const { return now_; }

 private:
  double now_ = 100;
  std::vector<Candidate> candidates_;
  std::vector<int> runs_;
};

TEST(TimedChoice, TheFastestIsTakenOfThoseThatRun) {
  FakeEngines engines;
  engines.add(-1);
  engines.add(3);
  const size_t fastest = engines.add(1);
  engines.add(2);
  TimingBudget budget = engines.budget(60);
  const auto [index, timed] = budget.choose(engines.candidates());
  EXPECT_EQ(index, static_cast<int>(fastest));
  EXPECT_TRUE(timed);
  EXPECT_NEAR(budget.left(), 60 - (engines.now() - 100), 1e-9);
  EXPECT_EQ(engines.timed(), 4);
}

TEST(TimedChoice, NoneIsSaidToBeNone) {
  FakeEngines engines;
  engines.add(-1);
  TimingBudget budget = engines.budget(60), empty = engines.budget(0);
  EXPECT_EQ(budget.choose(engines.candidates()).index, -1);
  EXPECT_EQ(empty.choose(engines.candidates()).index, -1);
  EXPECT_EQ(first_that_runs(engines.candidates()), -1);
}

TEST(TimedChoice, AChoiceTakesAHundredthOfWhatIsLeft) {
  FakeEngines engines;
  for (int i = 0; i < 100; ++i) engines.add(10);  // 0.14 s each
  TimingBudget budget = engines.budget(60);
  budget.choose(engines.candidates());
  EXPECT_GT(engines.now() - 100, 0.6);
  EXPECT_LT(engines.now() - 100, 0.75);
  EXPECT_EQ(engines.timed(), 5);
}

TEST(TimedChoice, OfManyPassesTheLastIsTimedAndAllKeepToTheLimit) {
  FakeEngines engines;
  for (int i = 0; i < 40; ++i) engines.add(5);  // 0.07 s each, 2.8 s in all
  TimingBudget budget = engines.budget(60);
  for (int pass = 0; pass < 200; ++pass) ASSERT_TRUE(budget.choose(engines.candidates()).timed) << pass;
  EXPECT_LE(engines.now() - 100, 60);
}

TEST(TimedChoice, APassOfMicrosecondsIsNotSearchedLong) {
  FakeEngines engines;
  for (int i = 0; i < 100; ++i) engines.add(0.01f, 0.01);
  TimingBudget budget = engines.budget(60);
  budget.choose(engines.candidates());
  EXPECT_LT(engines.now() - 100, 0.13) << "10,000 runs take 0.1 s";
}

TEST(TimedChoice, TwoAreComparedHoweverLongTheyTake) {
  FakeEngines engines;
  engines.add(200, 2, true);
  const size_t second = engines.add(150);
  const size_t third = engines.add(100);
  TimingBudget budget = engines.budget(60);
  EXPECT_EQ(budget.choose(engines.candidates()).index, static_cast<int>(second));
  EXPECT_EQ(engines.runs(third), 0);
}

TEST(TimedChoice, TwoAreCompiledAtMostAlsoWhenTheyFail) {
  FakeEngines engines;
  const size_t failed = engines.add(-1, 0.01, true), compiled = engines.add(5, 0.01, true),
               left_out = engines.add(1, 0.01, true), last = engines.add(4);
  TimingBudget budget = engines.budget(60);
  EXPECT_EQ(budget.choose(engines.candidates()).index, static_cast<int>(last));
  EXPECT_EQ(engines.runs(failed), 1);
  EXPECT_EQ(engines.runs(compiled), 1);
  EXPECT_EQ(engines.runs(left_out), 0);
}

TEST(TimedChoice, WhenTheTimeIsSpentTheFirstIsTakenThatNeedsNoCompiler) {
  FakeEngines engines;
  const size_t compiled = engines.add(1, 70, true);
  engines.add(-1);
  const size_t ready = engines.add(3), better = engines.add(2);
  TimingBudget budget = engines.budget(60);
  EXPECT_EQ(budget.choose(engines.candidates()).index, static_cast<int>(compiled));
  EXPECT_LT(budget.left(), 0);
  const double before = engines.now();
  const auto [index, timed] = budget.choose(engines.candidates());
  EXPECT_EQ(index, static_cast<int>(ready));
  EXPECT_FALSE(timed);
  EXPECT_LT(engines.now() - before, 0.02);
  EXPECT_EQ(engines.runs(better), 0);
}

TEST(TimedChoice, WhereAllAreCompiledTheFirstThatRunsIsTakenUntimed) {
  FakeEngines engines;
  engines.add(-1, 1, true);
  const size_t only = engines.add(3, 1, true);
  TimingBudget budget = engines.budget(0);
  EXPECT_EQ(budget.choose(engines.candidates()).index, static_cast<int>(only));
}

TEST(TimedChoice, WhatIsTheSameInEveryRunIsTheFirstThatRuns) {
  FakeEngines engines;
  engines.add(-1);
  const size_t first = engines.add(5, 1, true);
  engines.add(1);
  EXPECT_EQ(first_that_runs(engines.candidates()), static_cast<int>(first));
}

}  // namespace
}  // namespace brightnet::cuda
