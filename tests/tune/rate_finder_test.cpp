#include "tune/rate_finder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/drawing/canvas.h"
#include "kernels/cpu/cpu_backend.h"
#include "layers/distillation.h"
#include "tests/train/small_weights.h"
#include "train/setup/automatic_anchors.h"

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

/// A CPU whose gradient of the loss overflows in the first passes through a head.
class OverflowsAtFirst : public cpu::CpuBackend {
 public:
  explicit OverflowsAtFirst(int losses) : losses_(losses) {}
  void yolo_loss(const YoloHead& head, const YoloLossPass& pass) override {
    cpu::CpuBackend::yolo_loss(head, pass);
    if (losses_-- > 0) pass.gradient.as<float>()[0] = std::numeric_limits<float>::infinity();
  }

 private:
  int losses_;
};

// As in fp16, whose first scale is too large.
TEST(RateFinder, CountsNoStepInWhichTheLossScaleIsYetToBeFound) {
  const SmallRun run;
  Preparation prepared = prepare_sweep(request_of(run, {"optimizer.loss_scale=65536"}), "cpu");
  prepared.backend = std::make_unique<OverflowsAtFirst>(8);  // two steps of two micro-batches and two heads
  const auto points = sweep_rates(prepared, {1e-5, 1e-2, 20});
  ASSERT_EQ(points.size(), 20u);
  EXPECT_EQ(points[0].rate, 1e-5);
  for (const RatePoint& point : points) EXPECT_TRUE(std::isfinite(point.loss)) << point.rate;
}

// Each loss is that of one step: it is no other when its batch comes again.
TEST(RateFinder, SeesNoChangeAtARateOfNextToNothing) {
  const SmallRun run;
  Preparation prepared = prepare_sweep(request_of(run), "cpu");
  const auto points = sweep_rates(prepared, {1e-20, 1e-19, 20});
  ASSERT_EQ(points.size(), 20u);
  for (const RatePoint& point : points) EXPECT_NEAR(point.loss, 1, 1e-5) << point.rate;
}

TEST(RateFinder, MarksTheSuggestedRateInItsPlot) {
  const cv::Mat plot = plot_rates({{1e-4, 1, 1}, {1e-2, 0.8, 0.9}, {0.06, 0.5, 0.6}, {0.5, 1, 1}},
                                  RateSuggestion{.rate = 0.02, .minimum = 0.06});
  // The inside is 780 units wide from 80 on, for rates from 0.0001 to 1 by their logarithms.
  const auto is_marked = [&](double rate) {
    const double x = 80 + 780 * (std::log10(rate) + 4) / 4;
    const auto pixel = [](double units) { return static_cast<int>(std::lround(units * Canvas::density)); };
    return cv::norm(plot.at<cv::Vec3b>(pixel(150), pixel(x)), cv::Vec3b(213, 94, 0)) < 60;
  };
  EXPECT_TRUE(is_marked(0.02));
  EXPECT_FALSE(is_marked(0.06)) << "where the loss is least";
}

TEST(RateFinder, ComparesTheLossesOfANetworkWithATeacherToo) {
  const SmallRun run;
  const auto teacher = testing::write_small_weights(run);
  const Preparation prepared = prepare_sweep(request_of(run, {"train.teacher=" + teacher.string()}), "cpu");
  ASSERT_TRUE(prepared.config.distillation) << "which trains a network of its own";
  const auto heads = yolo_heads(prepared.config.distillation->student);
  EXPECT_EQ(heads.size(), 2u);
  for (const YoloAttributes* yolo : heads) EXPECT_EQ(yolo->head.assignment, AssignmentKind::neighbours);
}

}  // namespace
}  // namespace brightnet
