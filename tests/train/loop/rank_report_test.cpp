#include "train/loop/rank_report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/train/distributed/thread_ranks.h"

namespace brightnet::testing {
namespace {

std::string print(const RankReport& report) {
  const auto& [losses, sums, stop, save_due, evaluation_due, timing_due, planned] = report;
  return fmt::format("{} {} {} {} {} {}, {} {} {}; {} images, {} {} {} {} s; {}{}{}{}{}", losses.box,
                     losses.objectness, losses.classes, losses.iou, losses.assigned, losses.images,
                     losses.steps, losses.clipped, losses.norm, sums.images, sums.seconds, sums.waited,
                     sums.comm_waited, sums.busy, stop ? "stop " : "", save_due ? "save" : "",
                     evaluation_due ? "evaluate" : "", timing_due ? "time" : "",
                     planned > 0 ? std::to_string(planned) : "");
}

RankReport numbered(double rank) {
  const double a = 100 * rank;
  return {.losses = {a + 1, a + 2, a + 3, a + 4, a + 5, a + 6, a + 12, a + 13, a + 14},
          .sums = {a + 7, a + 8, a + 9, a + 10, a + 11}};
}

TEST(RankReport, SumsWhatIsCountedAndAveragesWhatIsTimed) {
  const auto all =
      on_ranks(2, [](Communicator& ranks) { return print(combine(numbered(ranks.rank()), ranks)); });
  EXPECT_EQ(all[0], "102 104 106 108 110 112, 124 126 128; 114 images, 58 59 60 61 s; ");
  EXPECT_EQ(all[1], all[0]);
}

TEST(RankReport, StopsAndSavesOnAllRanksWhenOneHasTo) {
  const auto all = on_ranks(3, [](Communicator& ranks) {
    RankReport stop, save;
    stop.stop = ranks.rank() > 0;
    save.save_due = ranks.leads();
    return print(combine(stop, ranks)) + " | " + print(combine(save, ranks));
  });
  for (const std::string& text : all) {
    EXPECT_EQ(
        text,
        "0 0 0 0 0 0, 0 0 0; 0 images, 0 0 0 0 s; stop  | 0 0 0 0 0 0, 0 0 0; 0 images, 0 0 0 0 s; save");
  }
}

TEST(RankReport, EvaluatesAndPlansAsRankZeroDoes) {
  const auto all = on_ranks(3, [](Communicator& ranks) {
    RankReport report;
    if (ranks.leads()) {
      report.evaluation_due = true;
      report.timing_due = true;
      report.planned = 1234567890123;
    }
    return print(combine(report, ranks));
  });
  for (const std::string& text : all)
    EXPECT_EQ(text, "0 0 0 0 0 0, 0 0 0; 0 images, 0 0 0 0 s; evaluatetime1234567890123");
}

TEST(RankReport, OfOneRankIsItsOwn) {
  EXPECT_EQ(print(combine(numbered(1), Communicator::solo())), print(numbered(1)));
}

}  // namespace
}  // namespace brightnet::testing
