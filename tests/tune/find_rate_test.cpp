// `tune --find-rate` as a program calls it: from which weights it starts, and what it answers.
#include <cmath>

#include <fmt/format.h>

#include "brightnet/tune.h"
#include "core/json.h"
#include "tests/logged.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

TuneOptions sweep_from_weights(const SmallRun& run, const std::filesystem::path& weights) {
  return {.run = {.config = run.config().string(), .settings = SmallRun::short_run()},
          .weights = weights.string(),
          .device = "cpu",
          .folder = run.folder() / "rate"};
}

TEST(FindRate, StartsFromTheWeightsThatItIsGiven) {
  const SmallRun run;
  const auto weights = write_small_weights(run);
  TuneOptions options = sweep_from_weights(run, weights);
  std::stop_source stop;
  stop.request_stop();
  options.can_be_stopped = [&] { return stop.get_token(); };
  const Logged logged;
  EXPECT_FALSE(find_rate(options));
  EXPECT_NE(logged.text().find(weights.filename().string() + ": "), std::string::npos) << logged.text();
  EXPECT_FALSE(std::filesystem::exists(options.folder)) << "it was stopped";
  options.weights = (run.folder() / "gone.safetensors").string();
  EXPECT_THROW(find_rate(options), InputError);
}

TEST(FindRate, RefusesAFileInTheFoldersPlaceBeforeItTrains) {
  const SmallRun run;
  TuneOptions options = sweep_from_weights(run, write_small_weights(run));
  write_atomically(options.folder, std::string("a file"));
  bool trains = false;
  options.can_be_stopped = [&] {
    trains = true;
    return std::stop_token();
  };
  const Logged logged;
  EXPECT_THROW(find_rate(options, 20), InputError);
  EXPECT_FALSE(trains);
}

// From weights that detect something everywhere, which every rate but the smallest soon puts an end to.
TEST(FindRate, AnswersWithTheRateOfTheLeastLossAndAThirdOfIt) {
  const SmallRun run;
  TuneOptions options = sweep_from_weights(run, write_small_weights(run));
  Answer answer;
  options.found = [&](const Answer& found) { answer = found; };
  const Logged logged;
  ASSERT_TRUE(find_rate(options, 90));
  const Json json = Json::parse(answer.json);
  double least = INFINITY, rate = 0;
  for (const Json& point : json["points"]) {
    if (point["smoothed"].is_null() || point["smoothed"].get<double>() >= least) continue;
    least = point["smoothed"].get<double>();
    rate = point["rate"].get<double>();
  }
  ASSERT_TRUE(json["minimum_at"].is_number()) << answer.json;
  EXPECT_DOUBLE_EQ(json["minimum_at"].get<double>(), rate);
  EXPECT_NEAR(json["suggested_rate"].get<double>(), rate / 3, 0.06 * rate / 3) << "in two digits";
  const std::string advice =
      fmt::format("add --set optimizer.rate={:g} to brightnet train", json["suggested_rate"].get<double>());
  EXPECT_NE(logged.text().find(advice), std::string::npos) << advice << " is not in: " << logged.text();
}

}  // namespace
}  // namespace brightnet::testing
