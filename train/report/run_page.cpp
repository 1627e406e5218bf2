#include "train/report/run_page.h"

#include <chrono>
#include <cmath>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "core/progress_line.h"

namespace brightnet {
namespace {

std::string score(double value) {
  return value == no_truths || std::isnan(value) ? "–" : fmt::format("{:.3f}", value);
}

/// Whole epochs only: not 3 after 2.6 of them.
std::string epochs_done(const TrainingTotals& totals) {
  return fmt::format("{:.0f}", std::floor(totals.epochs));
}

Page::Pairs headlines(const RunStanding& now) {
  const Metrics unknown;
  const Metrics& best = now.best ? *now.best : now.earlier_best ? *now.earlier_best : unknown;
  Page::Pairs tiles{{"AP50 (mAP@0.5)", score(best.AP50)}, {"AP (mAP@0.5:0.95)", score(best.AP)}};
  const OperatingPoint point = best.best;
  if (point.f1 > 0) {
    tiles.emplace_back(fmt::format("precision at confidence {:.3f}", point.score), score(point.precision));
    tiles.emplace_back(fmt::format("recall at confidence {:.3f}", point.score), score(point.recall));
  }
  tiles.emplace_back("best epoch", now.best_epoch > 0 ? std::to_string(now.best_epoch) : "–");
  const TrainingTotals& all = now.totals;
  tiles.emplace_back("epochs trained", epochs_done(all));
  tiles.emplace_back("time of training", all.seconds > 0 ? format_seconds(all.seconds) : "–");
  tiles.emplace_back("images per second",
                     all.timed_seconds > 0 ? fmt::format("{:.1f}", all.images / all.timed_seconds) : "–");
  return tiles;
}

/// Leaves out the objects of the training split where they are not known.
void add_classes(Page& page, const std::vector<int64_t>& training_objects, const Metrics& best) {
  const bool trained = training_objects.size() == best.per_class.size();
  std::vector<std::string> head{"class"};
  if (trained) head.emplace_back("training objects");
  for (const char* name : {"objects", "AP50", "AP", "precision", "recall", "best F1", "at confidence"})
    head.emplace_back(name);
  if (trained) head[2] = "validation objects";
  std::vector<std::vector<std::string>> rows;
  for (size_t c = 0; c < best.per_class.size(); ++c) {
    const ClassMetrics& of = best.per_class[c];
    std::vector<std::string>& row = rows.emplace_back(std::vector{of.name});
    if (trained) row.push_back(std::to_string(training_objects[c]));
    row.push_back(std::to_string(of.truths));
    for (const double value : {of.AP50, of.AP}) row.push_back(score(value));
    const bool known = of.truths > 0;
    for (const double value : {of.best.precision, of.best.recall, of.best.f1})
      row.push_back(known ? score(value) : "–");
    row.push_back(known ? fmt::format("{:.3f}", of.best.score) : "–");
  }
  page.table("Classes", head, rows);
}

std::vector<PlotPanel> all_panels(const MetricsTable& curves, double settling_epochs) {
  std::vector<PlotPanel> panels = results_panels(curves, settling_epochs);
  const auto add = [&](const char* title, const char* column) {
    const int at = curves.column(column);
    if (at < 0) return;
    Curve curve{"training", {}, {}, 0};
    for (const auto& row : curves.rows) {
      if (!std::isfinite(row[at])) continue;
      curve.x.push_back(row[0]);
      curve.y.push_back(row[at]);
    }
    panels.push_back({title, {curve}, Better::neither});
  };
  add("images per second", "images_per_s");
  add("norm of the gradient", "gradient_norm");
  return panels;
}

}  // namespace

Page run_page(const RunDescription& run, const RunStanding& now, const Page& before) {
  const std::time_t written = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  Page page(run.name, fmt::format("{} · written {:%Y-%m-%d %H:%M} UTC",
                                  now.over ? "training has ended" : "after epoch " + epochs_done(now.totals),
                                  fmt::gmtime(written)));
  const auto keep = [&](const char* title) { page.add(before.section(title)); };
  page.tiles(headlines(now));
  std::vector<std::string> sentences = run.warnings;
  sentences.insert(sentences.end(), now.sentences.begin(), now.sentences.end());
  page.sentences("What stands out", sentences);
  page.panels("Curves", all_panels(now.curves, run.settling_epochs), "epoch", now.best_epoch);
  if (now.best) {
    add_classes(page, run.training_objects, *now.best);
    page.confusion(*now.best);
    page.score_curves(*now.best);
  } else {
    for (const char* title : {"Classes", Page::confusion_title, Page::score_title}) keep(title);
  }
  for (const Json& picture : now.pictures) page.add(picture);
  page.facts("Data", run.data);
  page.facts("Model", run.model);
  page.facts("Machine", run.machine);
  constexpr const char* chosen = "Values chosen for this run";
  if (run.choices.empty()) {
    keep(chosen);
  } else {
    page.table(chosen, {"key", "value", "why"}, run.choices);
  }
  page.text("Configuration (config.yaml)", run.config);
  return page;
}

Page evaluation_page(const std::string& title, const Metrics& metrics, const std::vector<Json>& pictures) {
  Page page(title, fmt::format("{} images with {} objects; {} detections", metrics.images, metrics.truths,
                               metrics.detections));
  const OperatingPoint best = metrics.best;
  page.tiles({{"AP50 (mAP@0.5)", score(metrics.AP50)},
              {"AP (mAP@0.5:0.95)", score(metrics.AP)},
              {"AP75", score(metrics.AP75)},
              {"AR (100 detections)", score(metrics.AR)},
              {fmt::format("precision at confidence {:.3f}", best.score), score(best.precision)},
              {fmt::format("recall at confidence {:.3f}", best.score), score(best.recall)}});
  add_classes(page, {}, metrics);
  page.confusion(metrics);
  page.score_curves(metrics);
  for (const Json& picture : pictures) page.add(picture);
  return page;
}

}  // namespace brightnet
