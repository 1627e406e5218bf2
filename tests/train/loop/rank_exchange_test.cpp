#include "train/loop/rank_exchange.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/train/distributed/thread_ranks.h"

namespace brightnet::testing {
namespace {

std::string print(const RankReport& report) {
  const auto& [losses, sums, stop, save_due, evaluation_due, timing_due, planned] = report;
  return fmt::format("{} {} {} {} {} {}, {} {} {} {}; {} images, {} {} {} {} s; {}{}{}{}{}", losses.box,
                     losses.objectness, losses.classes, losses.iou, losses.assigned, losses.images,
                     losses.steps, losses.clipped, losses.norm, losses.distillation, sums.images,
                     sums.seconds, sums.waited, sums.comm_waited, sums.busy, stop ? "stop " : "",
                     save_due ? "save" : "", evaluation_due ? "evaluate" : "", timing_due ? "time" : "",
                     planned > 0 ? std::to_string(planned) : "");
}

RankReport numbered(double rank) {
  const double a = 100 * rank;
  return {.losses = {a + 1, a + 2, a + 3, a + 4, a + 5, a + 6, a + 12, a + 13, a + 14, a + 15},
          .sums = {a + 7, a + 8, a + 9, a + 10, a + 11}};
}

TEST(RankReport, SumsWhatIsCountedAndAveragesWhatIsTimed) {
  const auto all =
      on_ranks(2, [](Communicator& ranks) { return print(combine(numbered(ranks.rank()), ranks)); });
  EXPECT_EQ(all[0], "102 104 106 108 110 112, 124 126 128 130; 114 images, 58 59 60 61 s; ");
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
        "0 0 0 0 0 0, 0 0 0 0; 0 images, 0 0 0 0 s; stop  | 0 0 0 0 0 0, 0 0 0 0; 0 images, 0 0 0 0 s; save");
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
    EXPECT_EQ(text, "0 0 0 0 0 0, 0 0 0 0; 0 images, 0 0 0 0 s; evaluatetime1234567890123");
}

TEST(RankReport, OfOneRankIsItsOwn) {
  EXPECT_EQ(print(combine(numbered(1), Communicator::solo())), print(numbered(1)));
}

/// What two ranks have after 6 images each, a resume from the state that rank 0 saved, and 4 more images each.
std::vector<std::string> resumed_on_two() {
  return on_ranks(2, [](Communicator& ranks) {
    Progress saved;
    {
      RankExchange first(ranks);
      first.add({.images = 6, .seconds = 2.0 + 2 * ranks.rank()});
      LossTotals losses;
      losses.box = 10 + ranks.rank();
      first.share({.losses = losses});
      first.complete(saved);
    }
    RankExchange rest(ranks);
    Progress progress = saved;
    rest.resume(progress);
    rest.add({.images = 4, .seconds = 1});
    LossTotals losses = progress.state.sums;  // the device goes on from here
    losses.box += 5;
    rest.share({.losses = losses});
    return fmt::format("{} images in {} s, box {}", rest.sums().images, rest.sums().seconds,
                       rest.losses().box);
  });
}

TEST(RankExchange, CountsNothingTwiceAfterAResume) {
  for (const std::string& text : resumed_on_two()) EXPECT_EQ(text, "20 images in 4 s, box 31");
}

TEST(RankExchange, BeginsAnEpochWithoutSums) {
  RankExchange ranks(Communicator::solo());
  ranks.add({.images = 6});
  EXPECT_EQ(ranks.share({}).sums.images, 6);
  ranks.begin_epoch();
  EXPECT_EQ(ranks.sums().images, 0);
  ranks.add({.images = 2});
  EXPECT_EQ(ranks.share({}).sums.images, 2);
}

TEST(RankExchange, DecidesAsRankZeroDoes) {
  for (const std::string& text : on_ranks(3, [](Communicator& ranks) {
         return std::to_string(RankExchange(ranks).of_rank_0(int64_t{10} + ranks.rank()));
       }))
    EXPECT_EQ(text, "10");
}

}  // namespace
}  // namespace brightnet::testing
