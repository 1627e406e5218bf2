#include "train/distributed/agreement.h"

#include <new>
#include <regex>

#include <gtest/gtest.h>

#include "core/log.h"
#include "tests/logged.h"
#include "tests/train/distributed/thread_ranks.h"
#include "train/distributed/solo.h"

namespace brightnet::testing {
namespace {

/// What each rank throws in prepare_together() when `prepare` throws on some; "" from one that goes on.
std::vector<std::string> prepared(int size, const std::function<void(int)>& prepare) {
  return on_ranks(size, [&](Communicator& ranks) -> std::string {
    try {
      prepare_together(ranks, [&] { prepare(ranks.rank()); });
      return "";
    } catch (const SharedError& e) {
      return std::to_string(static_cast<int>(e.code())) + ' ' + e.what();
    }
  });
}

std::string without_host(const std::string& text) {
  return std::regex_replace(text, std::regex("on host [^)]+"), "on host H");
}

TEST(Agreement, GoesOnWhenAllAreReady) {
  EXPECT_EQ(prepared(3, [](int) {}), std::vector<std::string>(3));
}

TEST(Agreement, AllThrowTheErrorOfTheOneThatFailed) {
  const auto errors = prepared(4, [](int rank) {
    if (rank == 2) throw DeviceError("no GPU is left", "here:3", "Buy one.");
  });
  for (const auto& error : errors) {
    EXPECT_EQ(error, errors[0]) << "all say the same";
    EXPECT_EQ(without_host(error).substr(0, 24), "3 rank 2 (on host H): he") << error;
    EXPECT_NE(error.find("no GPU is left"), std::string::npos) << error;
    EXPECT_NE(error.find("Buy one."), std::string::npos) << error;
  }
}

TEST(Agreement, TheLowestRankOfSeveralIsHeard) {
  const auto errors = prepared(4, [](int rank) {
    if (rank == 1) throw InputError("the second");
    if (rank == 3) throw DeviceError("the fourth");
  });
  EXPECT_EQ(without_host(errors[0]).substr(0, 33), "2 rank 1 (on host H): the second.");
  EXPECT_EQ(errors[3], errors[0]);
}

TEST(Agreement, AnErrorOfAllRanksNamesNone) {
  const auto errors = prepared(3, [](int) { throw InputError("the key is misspelt", "run.yaml:2"); });
  EXPECT_EQ(errors[0].find("rank"), std::string::npos) << errors[0];
  EXPECT_NE(errors[0].find("run.yaml:2"), std::string::npos) << errors[0];
  EXPECT_EQ(errors[1], errors[0]);
}

TEST(Agreement, TheSameMessageWithAnotherCodeIsAnotherError) {
  const auto errors = prepared(2, [](int rank) {
    if (rank == 0) throw InputError("no");
    throw DeviceError("no");
  });
  EXPECT_NE(errors[0].find("rank 0 (on host "), std::string::npos) << errors[0];
}

TEST(Agreement, AMachineWithoutMemoryIsNoBug) {
  const auto errors = prepared(2, [](int rank) {
    if (rank == 1) throw std::bad_alloc();
  });
  EXPECT_EQ(without_host(errors[0]).substr(0, 23), "2 rank 1 (on host H): t") << errors[0];
  EXPECT_NE(errors[0].find("no more memory"), std::string::npos) << errors[0];
}

TEST(Agreement, AloneTheErrorIsThrownAsItIs) {
  EXPECT_THROW(prepare_together(Communicator::solo(), [] { throw DeviceError("no"); }), DeviceError);
  EXPECT_NO_THROW(require_same(Communicator::solo(), "hat", "red"));
}

TEST(Agreement, DifferentTextsNameTheFirstRankThatDiffers) {
  const auto errors = on_ranks(4, [](Communicator& ranks) -> std::string {
    try {
      require_same(ranks, "hat", "red");
      require_same(ranks, "coat", ranks.rank() < 2 ? "blue" : "green");
      return "";
    } catch (const SharedError& e) {
      return e.what();
    }
  });
  EXPECT_EQ(errors[0].substr(0, 6), "rank 2");
  EXPECT_NE(errors[0].find("has another coat than rank 0"), std::string::npos) << errors[0];
  EXPECT_EQ(errors[3], errors[0]);
}

TEST(Agreement, DifferentTextsNameTheMachineOfTheRankThatDiffers) {
  struct OfTwoMachines : SoloCommunicator {
    int size() const override { return 2; }
    std::vector<std::string> all_gather(std::string_view bytes) override {
      return {std::string(bytes), "1 gpu02"};
    }
  } ranks;
  try {
    require_same(ranks, "coat", "blue");
    ADD_FAILURE() << "the other one's is not known to be blue";
  } catch (const SharedError& e) {
    EXPECT_NE(std::string(e.what()).find("rank 1 (on host gpu02) has another coat"), std::string::npos)
        << e.what();
  }
}

TEST(Agreement, AnErrorInTheMiddleEndsAllRanks) {
  const testing::Logged logged;
  const auto failures = on_ranks(2, [](Communicator& ranks) -> std::string {
    const auto ended_by = [&](const std::function<int()>& work) -> std::string {
      try {
        return std::to_string(run_as_rank(ranks, work));
      } catch (const RankFailed& e) {
        return std::to_string(e.code) + ' ' + e.what();
      }
    };
    return ended_by([] { return 4; }) + '|' +
           ended_by([]() -> int { throw InputError("the bridge is down"); }) + '|' +
           ended_by([]() -> int { throw std::bad_alloc(); }) + '|' +
           ended_by([]() -> int { throw SharedError(ExitCode::device, "known to all"); });
  });
  log_as_rank(std::nullopt);  // for the tests that follow
  const std::string& said = logged.text();
  for (const auto& failure : failures) {
    EXPECT_EQ(failure.substr(0, 23), "4|2 the bridge is down.");
    EXPECT_NE(failure.find("|2 this machine has no more memory"), std::string::npos) << failure;
    EXPECT_EQ(failure.substr(failure.size() - 2), "|3") << failure;
  }
  EXPECT_TRUE(std::regex_match(said, std::regex("\\[[01]\\] known to all\\.\n"))) << said;
}

}  // namespace
}  // namespace brightnet::testing
