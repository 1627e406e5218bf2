#include "train/run/best_effort.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/logged.h"
#include "tests/train/distributed/thread_ranks.h"
#include "train/distributed/agreement.h"

namespace brightnet::testing {
namespace {

TEST(BestEffort, SaysAFailureOnceWithItsReason) {
  BestEffort best_effort;
  const Logged logged;
  for (int i = 0; i < 3; ++i) best_effort.attempt("The plot", [] { throw InputError("no paper"); });
  best_effort.attempt("The page", [] { throw std::runtime_error("torn"); });
  bool done = false;
  best_effort.attempt("The rest", [&] { done = true; });
  const std::string said = logged.text();
  EXPECT_TRUE(done);
  EXPECT_NE(said.find("The plot failed and is left out: no paper."), std::string::npos) << said;
  EXPECT_EQ(said.find("no paper"), said.rfind("no paper"));
  EXPECT_NE(said.find("internal error: torn"), std::string::npos) << said;
}

TEST(BestEffort, OfAllRanksLeavesOutWhatTheyFailAtTogetherAndNothingElse) {
  const Logged logged;
  const auto ends = on_ranks(2, [](Communicator& ranks) -> std::string {
    BestEffort best_effort;
    best_effort.attempt_together(ranks, "The measurement", [&] {
      prepare_together(ranks, [&] {
        if (ranks.rank() == 1) throw std::runtime_error("on one rank");
      });
    });
    ranks.barrier();  // both come to the same next call
    try {
      best_effort.attempt_together(ranks, "The measurement", [] { throw std::runtime_error("alone"); });
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "went on alone";
  });
  const std::string said = logged.text();
  EXPECT_EQ(ends, (std::vector<std::string>{"alone", "alone"}));
  EXPECT_NE(said.find("on one rank"), std::string::npos) << said;
}

}  // namespace
}  // namespace brightnet::testing
