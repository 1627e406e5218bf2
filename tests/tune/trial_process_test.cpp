#include "tune/trial_process.h"

#include <chrono>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "core/child_process.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

// As a host of the library may have it: the search waited for ever.
TEST(TrialProcess, HasEndedAlsoWhereItsEndIsIgnored) {
  const fs::path log = fs::path(::testing::TempDir()) / "trial_process.log";
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  {
    TrialProcess trial({"sh", "-c", "exit 0"}, log);
    while (!trial.ended() && trial.seconds() < 30) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(trial.ended(), unknown_exit_code);
  }
  std::signal(SIGCHLD, before);
  const TrialOutcome outcome = outcome_of("", unknown_exit_code, log, BestBy::AP);
  EXPECT_NE(outcome.failure.find("SIGCHLD"), std::string::npos) << outcome.failure;
  fs::remove(log);
}

}  // namespace
}  // namespace brightnet
