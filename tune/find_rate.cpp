#include <cmath>

#include "brightnet/tune.h"
#include "core/files.h"
#include "core/json.h"
#include "core/log.h"
#include "core/option_ranges.h"
#include "core/output_files.h"
#include "data/drawing/draw.h"
#include "train/run/best_effort.h"
#include "train/setup/named_run.h"
#include "tune/rate_finder.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

constexpr int rate_rows = 15;

Json to_json(const std::vector<RatePoint>& points, const std::optional<RateSuggestion>& suggestion) {
  Json list = Json::array();
  for (const RatePoint& point : points) {
    const auto finite = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
    list.push_back(
        {{"rate", point.rate}, {"loss", finite(point.loss)}, {"smoothed", finite(point.smoothed)}});
  }
  Json json;
  json["suggested_rate"] = suggestion ? Json(suggestion->rate) : Json();
  json["minimum_at"] = suggestion ? Json(suggestion->minimum) : Json();
  json["points"] = list;
  return json;
}

/// Throws InputError where the folder has files of the same names that no earlier call has written: they would be lost.
void keep_files_of_others(const fs::path& folder) {
  const fs::path table = folder / "rate.csv", plot = folder / "rate.png";
  const std::string advice = "Move it, or name another folder with --out.";
  std::error_code error;
  if (fs::exists(table, error)) {
    const std::string own = rates_csv({});
    std::string begins(own.size(), '\0');
    open_regular(table).read(begins.data(), std::ssize(begins));
    if (begins == own) return;
    throw InputError("this already exists and is not a table of --find-rate", table.string(), advice);
  }
  if (fs::is_regular_file(plot, error)) {
    throw InputError("this already exists, and no rate.csv beside it says that it is a plot of --find-rate",
                     plot.string(), advice);
  }
}

}  // namespace

bool find_rate(const TuneOptions& options, int steps) {
  OptionRanges("find_rate()").within(20, 10000, "steps", steps);
  const NamedRun named(options.run);
  named.say_data();
  const RateSweep sweep{.steps = steps};
  RunRequest request;
  request.config = options.run.config;
  request.overrides = named.overrides();
  request.weights = options.weights;
  Preparation run = prepare_sweep(request, options.device);
  const fs::path out =
      options.folder.empty() ? fs::path("runs") / (run.config.name + "-rate") : options.folder;
  check_folder(out, "--out");
  keep_files_of_others(out);
  const int batch = run.config.train.batch;
  log::info("{} steps of {} images while the learning rate grows from {:g} to {:g}", sweep.steps, batch,
            sweep.low, sweep.high);
  const std::stop_token stop = options.can_be_stopped ? options.can_be_stopped() : std::stop_token();
  const auto points = sweep_rates(run, sweep, stop);
  if (stop.stop_requested()) {
    log::info("Stopped by a signal; nothing was written.");
    return false;
  }
  const auto suggestion = suggest_rate(points);
  std::error_code error;
  fs::create_directories(out, error);
  write_atomically(out / "rate.csv", rates_csv(points));
  const bool drawn =
      BestEffort("The table of rates and the suggestion are").attempt("The plot of the rates", [&] {
        write_image(out / "rate.png", plot_rates(points, suggestion));
      });
  if (options.found) options.found({rates_table(points, rate_rows), to_text(to_json(points, suggestion))});
  if (suggestion) {
    log::result(
        "Suggested: optimizer.rate {:g}, a third of the rate where the smoothed loss is least ({:.2g}). The "
        "configuration has {:g}. To train with it, add --set optimizer.rate={:g} to brightnet train.",
        suggestion->rate, suggestion->minimum, run.config.optimizer.rate.value(), suggestion->rate);
  } else {
    log::warn(
        "The loss did not fall at any rate: check the labels (brightnet data check), or take more --steps.");
  }
  log::result("The curve: {}{}", drawn ? (out / "rate.png").string() + ", " : "",
              (out / "rate.csv").string());
  return true;
}

}  // namespace brightnet
