#include "cli/restarts.h"

#include <csignal>

#include <gtest/gtest.h>

#include "tests/logged.h"

namespace brightnet::cli {
namespace {

/// Plays a run whose processes end as `ends` says, one after the other.
struct Play {
  std::vector<ProcessesEnd> ends;
  std::vector<int> working =
      {};                       ///< ranks that work after each failure; as many as before where it is shorter
  std::vector<int> ranks = {};  ///< of each start
  std::vector<std::string> folders = {};
  std::vector<int> waits = {};
  size_t failures = 0;

  int run(int restarts, int ranks_at_first = 2) {
    return supervise(restarts, ranks_at_first,
                     {.start =
                          [&](int count, const std::string& folder) {
                            ranks.push_back(count);
                            folders.push_back(folder);
                            return ends.at(ranks.size() - 1);
                          },
                      .ranks_that_work =
                          [&](int before) {
                            const size_t i = failures++;
                            return i < working.size() ? working[i] : before;
                          },
                      .wait =
                          [&](int seconds) {
                            waits.push_back(seconds);
                            return true;
                          }});
  }
};

ProcessesEnd died(const std::string& folder = "runs/a", bool made_steps = true, int code = 128 + SIGKILL) {
  return {.code = code, .folder = folder, .made_steps = made_steps};
}

TEST(Restarts, ResumeTheFolderOfTheRunThatDiedAndWaitLongerEachTime) {
  Play play{{died(), died(), died(), {.code = 0}}};
  EXPECT_EQ(play.run(3), 0);
  EXPECT_EQ(play.folders, (std::vector<std::string>{"", "runs/a", "runs/a", "runs/a"}));
  EXPECT_EQ(play.waits, (std::vector<int>{2, 4, 8}));
}

TEST(Restarts, BeginAgainWhereTheRunHadNoFolderYet) {
  Play play{{died("", false), {.code = 0}}};
  EXPECT_EQ(play.run(1), 0);
  EXPECT_EQ(play.folders, (std::vector<std::string>{"", ""}));
}

TEST(Restarts, AreNotForWhatTheUserCanChangeOrAskedFor) {
  for (const int code : {0, 2, 4}) {
    Play play{{died("runs/a", true, code)}};
    EXPECT_EQ(play.run(5), code);
    EXPECT_TRUE(play.waits.empty()) << code;
  }
  Play killed{{{.code = 128 + SIGTERM, .asked = true, .folder = "runs/a", .made_steps = true}}};
  EXPECT_EQ(killed.run(5), 128 + SIGTERM) << "a second Ctrl-C";
}

TEST(Restarts, ADeviceThatFailsLaterIsNoMistakeOfTheUser) {
  Play never_worked{{died("runs/a", false, 3)}};
  EXPECT_EQ(never_worked.run(5), 3);
  Play fell_off{{died("runs/a", true, 3), {.code = 0}}};
  EXPECT_EQ(fell_off.run(5), 0);
  // It made steps before; the restart finds it not ready yet, and the next one makes none either.
  Play stays_away{{died(), died("runs/a", false, 3)}};
  EXPECT_EQ(stays_away.run(5), 3);
}

TEST(Restarts, AreUsedUp) {
  const testing::Logged logged;
  Play play{{died(), died(), died()}};
  EXPECT_EQ(play.run(2), 128 + SIGKILL);
  EXPECT_EQ(play.ranks.size(), 3u);
  EXPECT_NE(logged.text().find("its 2 restarts are used up"), std::string::npos) << logged.text();
  Play once{{died(), died()}};
  EXPECT_EQ(once.run(1), 128 + SIGKILL);
  EXPECT_NE(logged.text().find("its 1 restart is used up"), std::string::npos) << logged.text();
}

TEST(Restarts, GiveUpWhenNoStepWasMadeBetweenTwoFailures) {
  const testing::Logged logged;
  Play play{{died("runs/a", false, 1), died("runs/a", false, 1)}};
  EXPECT_EQ(play.run(10), 1);
  EXPECT_EQ(play.ranks.size(), 2u);
  EXPECT_NE(logged.text().find("made no step since its restart"), std::string::npos) << logged.text();
}

TEST(Restarts, GoOnWithTheRanksThatStillWork) {
  const testing::Logged logged;
  Play play{{died(), died(), {.code = 0}}, {4, 1}};
  EXPECT_EQ(play.run(5, 8), 0);
  EXPECT_EQ(play.ranks, (std::vector<int>{8, 4, 1}));
  EXPECT_NE(logged.text().find("on 4 ranks instead of 8"), std::string::npos) << logged.text();
  Play none{{died()}, {0}};
  EXPECT_EQ(none.run(5, 8), 128 + SIGKILL);
}

// While the GPUs are examined, which may take minutes, and while the restart waits.
TEST(Restarts, EndInOrderWhenTheUserStopsThemBetweenTwoStarts) {
  for (const bool waits : {false, true}) {
    for (const std::string folder : {"", "my runs/a"}) {
      const testing::Logged logged;
      int starts = 0;
      const int code = supervise(
          5, 2,
          {.start = [&](int, const std::string&) { return ++starts, died(folder); },
           .ranks_that_work = [&](int ranks) { return waits ? std::optional<int>(ranks) : std::nullopt; },
           .wait = [](int) { return false; }});
      EXPECT_EQ(code, 4) << waits;
      EXPECT_EQ(starts, 1) << waits;
      const std::string said = logged.text();
      EXPECT_NE(said.find("Stopped by a signal before the restart."), std::string::npos) << said;
      EXPECT_EQ(said.find("brightnet train --resume 'my runs/a' --ranks 2\n") != std::string::npos,
                !folder.empty())
          << said;
    }
  }
}

TEST(Restarts, OfOneProcessNameNoRanks) {
  EXPECT_EQ(resume_command("runs/a", 1), "brightnet train --resume runs/a");
  EXPECT_EQ(resume_command("runs/a", 0), "brightnet train --resume runs/a") << "a launcher's";
  EXPECT_EQ(resume_command("runs/a", 8), "brightnet train --resume runs/a --ranks 8");
}

TEST(Restarts, NeverWaitLongerThanFiveMinutes) {
  Play play{std::vector<ProcessesEnd>(12, died())};
  play.ends.push_back({.code = 0});
  EXPECT_EQ(play.run(100), 0);
  EXPECT_EQ(play.waits.back(), 300);
}

TEST(Restarts, GoOnWithTheGpusThatWork) {
  for (const char* device : {"auto", "cuda"}) {
    EXPECT_EQ(gpus_left(device, 4, {0, 1, 2, 3}).most_ranks, 4);
    EXPECT_TRUE(gpus_left(device, 4, {0, 1, 2, 3}).visible.empty());
    EXPECT_EQ(gpus_left(device, 4, {1, 3}).most_ranks, 2);
    EXPECT_EQ(gpus_left(device, 4, {1, 3}).visible, (std::vector<int>{1, 3}));
    EXPECT_EQ(gpus_left(device, 4, {}).most_ranks, 0);
  }
}

// Without GPU 0, CUDA would call another one cuda:2, perhaps one that somebody else computes on.
TEST(Restarts, OnANamedGpuStayOnIt) {
  EXPECT_GE(gpus_left("cuda:2", 4, {1, 2, 3}).most_ranks, 1);
  EXPECT_TRUE(gpus_left("cuda:2", 4, {1, 2, 3}).visible.empty()) << "its number would mean another";
  EXPECT_EQ(gpus_left("cuda:2", 4, {0, 1, 3}).most_ranks, 0);
}

TEST(Restarts, NameTheGpusThatWorkAsCudaDoes) {
  EXPECT_EQ(visible_devices("", {0, 2, 3}), "0,2,3");
  EXPECT_EQ(visible_devices("4,5,GPU-8a", {0, 2}), "4,GPU-8a");
}

}  // namespace
}  // namespace brightnet::cli
