#include "tune/rate_finder.h"

#include <algorithm>
#include <cmath>

#include "tests/train/small_run.h"

namespace brightnet {
namespace {

using testing::SmallRun;

RunRequest request_of(const SmallRun& run, const std::vector<std::string>& more = {}) {
  RunRequest request;
  request.config = run.config().string();
  request.overrides.assignments = SmallRun::short_run(more);
  return request;
}

TEST(RateFinder, FindsWhereASmallNetworkLearnsAndWhereItDiverges) {
  const SmallRun run;
  Preparation prepared = prepare_sweep(request_of(run), "cpu");
  for (const LayerDescription& layer : prepared.model.layers) {
    const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes);
    if (!yolo) continue;
    EXPECT_EQ(yolo->head.assignment, AssignmentKind::neighbours) << "simota's losses cannot be compared";
  }
  const auto points = sweep_rates(prepared, {1e-3, 1e4, 200});
  ASSERT_GT(points.size(), 20u);
  ASSERT_LT(points.size(), 200u) << "a rate of 10000 diverges";
  EXPECT_TRUE(has_diverged(points));
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(points[i].loss, 1) << "over the first loss of the same batch";
  EXPECT_NE(points[8].loss, 1) << "the first batch's second turn";
  EXPECT_NEAR(points[10].rate / points[9].rate, std::pow(1e7, 1 / 199.0), 1e-9);
  const auto found = suggest_rate(points);
  ASSERT_TRUE(found);
  EXPECT_GT(found->rate, 1e-3);
  EXPECT_LT(found->rate, 10);
}

TEST(RateFinder, LosesAndLeavesNothing) {
  const SmallRun run;
  const auto files = [&] {
    std::vector<std::filesystem::path> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(run.folder()))
      all.push_back(entry.path());
    std::sort(all.begin(), all.end());
    return all;
  };
  const auto before = files();
  Preparation prepared = prepare_sweep(request_of(run, {"train.sizes=[64, 96]"}), "cpu");
  EXPECT_TRUE(prepared.config.train.sizes.empty());
  const RateSweep sweep{1e-5, 1e-2, 20};
  const auto points = sweep_rates(prepared, sweep);
  EXPECT_EQ(points.size(), 20u);
  EXPECT_EQ(files(), before);
  // The batches and the parameters are those of the seed.
  Preparation again = prepare_sweep(request_of(run, {"train.sizes=[64, 96]"}), "cpu");
  const auto same = sweep_rates(again, sweep);
  for (size_t i = 0; i < points.size(); ++i) EXPECT_EQ(points[i].loss, same[i].loss) << i;
}

TEST(RateFinder, SweepsFromHardlyAnyToFarTooMuch) {
  const RateSweep sweep;
  EXPECT_EQ(sweep.low, 1e-6);
  EXPECT_EQ(sweep.high, 1);
  EXPECT_EQ(sweep.steps, 150);
}

TEST(RateFinder, StopsWhenAskedTo) {
  const SmallRun run;
  Preparation prepared = prepare_sweep(request_of(run), "cpu");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(sweep_rates(prepared, {}, stop.get_token()).empty());
}

TEST(RateFinder, WritesATableOfEveryStepAndAPlot) {
  std::vector<RatePoint> points{{1e-3, 20}, {1e-2, 10}, {1e-1, INFINITY}};
  smooth_losses(points);
  EXPECT_EQ(rates_csv(points), "rate,loss,smoothed\n0.001,20,20\n0.01,10,13.8865\n0.1,inf,inf\n");
  EXPECT_EQ(rates_table(points, 3),
            "      rate        loss    smoothed\n"
            "     0.001          20          20\n"
            "      0.01          10       13.89\n"
            "       0.1         inf         inf\n");
  const std::vector<RatePoint> many(30, {1e-3, 20, 20});
  for (const auto& [rows, lines] : {std::pair(15, 16), {30, 31}, {100, 31}}) {
    const std::string table = rates_table(many, rows);
    EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), lines) << rows;
  }
  EXPECT_FALSE(plot_rates(points, RateSuggestion{0.003, 0.01}).empty());
  EXPECT_FALSE(plot_rates({}, std::nullopt).empty());
}

}  // namespace
}  // namespace brightnet
