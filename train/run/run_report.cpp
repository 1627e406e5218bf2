#include "train/run/run_report.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/log.h"
#include "data/image/read_image.h"
#include "train/run/report/draw.h"
#include "train/run/report/letters.h"
#include "train/run/report/plots.h"

namespace brightnet {
namespace {

constexpr int pictured_batches = 3, pictured_per_batch = 16;
constexpr int pictured_predictions = 32;
constexpr float pictured_score = 0.25f;
// A plot takes a tenth of a second, too long to draw one after each short epoch.
constexpr std::chrono::seconds between_plots{20};

const std::vector<std::string>& metric_columns() {
  static const std::vector<std::string> columns{
      "box_loss",      "objectness_loss", "class_loss", "loss", "iou",  "learning_rate", "loss_scale",
      "images_per_s",  "data_wait",       "comm_wait",  "AP",   "AP50", "AP75",          "AR",
      "gradient_norm", "clipped",         "seconds"};
  return columns;
}

MetricsCsv open_csv(const std::filesystem::path& file, int after_epoch) {
  if (after_epoch < 0) return MetricsCsv(file, metric_columns());
  return MetricsCsv(file, metric_columns(), after_epoch);
}

std::vector<double> epoch_values(const EpochSummary& summary) {
  const EpochSums& s = summary.sums;
  const LossTotals& l = summary.losses;
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  // No loss when all steps were skipped; no metric without ground truth.
  const auto loss = [&](double sum) { return l.images > 0 ? sum / l.images : nothing; };
  const auto metric = [&](double Metrics::*which) {
    return summary.metrics && summary.metrics->*which != no_truths ? summary.metrics->*which : nothing;
  };
  return {loss(l.box),
          loss(l.objectness),
          loss(l.classes),
          loss(l.box + l.objectness + l.classes),
          l.assigned > 0 ? l.iou / l.assigned : nothing,
          summary.rate,
          summary.loss_scale > 0 ? summary.loss_scale : nothing,
          s.seconds > 0 ? s.images / s.seconds : nothing,
          s.seconds > 0 ? s.waited / s.seconds : nothing,
          s.seconds > 0 ? s.comm_waited / s.seconds : nothing,
          metric(&Metrics::AP),
          metric(&Metrics::AP50),
          metric(&Metrics::AP75),
          metric(&Metrics::AR),
          l.steps > 0 ? l.norm / l.steps : nothing,
          l.steps > 0 ? l.clipped / l.steps : nothing,
          s.seconds};
}

}  // namespace

RunReport::RunReport(const RunFolder& folder, OutputFiles& files, std::vector<std::string> classes,
                     int after_epoch, int64_t iteration)
    : folder_(folder),
      files_(files),
      classes_(std::move(classes)),
      csv_(open_csv(folder.metrics(), after_epoch)),
      events_(folder.path(), iteration) {
  if (const std::string numbered = numbered_names(classes_); !numbered.empty()) spdlog::warn("{}", numbered);
  write_table();
  write_events();
}

void RunReport::add_batch(const Batch& batch, int64_t number) {
  if (number >= pictured_batches) return;
  std::vector<cv::Mat> pictures;
  const size_t bytes = 3 * static_cast<size_t>(batch.width) * static_cast<size_t>(batch.height);
  for (int i = 0; i < std::min(batch.count, pictured_per_batch); ++i) {
    const cv::Mat view(batch.height, batch.width, CV_8UC3, batch.pixels + static_cast<size_t>(i) * bytes);
    pictures.push_back(view.clone());
    draw_truths(pictures.back(), batch.truths[static_cast<size_t>(i)], classes_);
  }
  write_picture("train_batch" + std::to_string(number) + ".jpg", tile(pictures));
}

void RunReport::add_epoch(const EpochSummary& summary) {
  const std::vector<double> values = epoch_values(summary);
  csv_.add(summary.epoch, values);
  write_table();
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    const auto& column = metric_columns()[i];
    const std::string group = column.substr(0, 1) == "A" ? "val/" : "train/";
    events_.scalar(group + column, static_cast<float>(values[i]), summary.iteration);
  }
  write_events();
  if (std::chrono::steady_clock::now() - plotted_ >= between_plots) plot();
}

void RunReport::add_best(const Metrics& metrics, const Dataset& val,
                         const std::vector<std::vector<ScoredBox>>& boxes, int64_t iteration) {
  write_picture("pr_curve.png", plot_precision_recall(metrics));
  write_picture("confusion_matrix.png", plot_confusion(metrics));
  std::vector<cv::Mat> pictures;
  int sheet = 0;
  const int count = std::min<int>(pictured_predictions, static_cast<int>(boxes.size()));
  for (int i = 0; i < count; ++i) {
    cv::Mat picture = read_image(val.images[static_cast<size_t>(i)].file);
    std::vector<ScoredBox> sure;
    for (const auto& box : boxes[static_cast<size_t>(i)]) {
      if (box.score >= pictured_score) sure.push_back(box);
    }
    draw_detections(picture, sure, classes_);
    pictures.push_back(std::move(picture));
    if (static_cast<int>(pictures.size()) < pictured_per_batch && i + 1 < count) continue;
    const cv::Mat together = tile(pictures);
    if (sheet == 0) events_.image("val/predictions", together, iteration);
    write_picture("val_pred" + std::to_string(sheet++) + ".jpg", together);
    pictures.clear();
  }
  write_events();
}

void RunReport::finish() {
  plot();
}

void RunReport::plot() {
  const std::vector<ResultsPanel> panels{{"loss", {"loss", "box_loss", "objectness_loss", "class_loss"}},
                                         {"IoU of assigned predictions", {"iou"}},
                                         {"learning rate", {"learning_rate"}},
                                         {"AP50", {"AP50"}},
                                         {"AP, AP75, AR", {"AP", "AP75", "AR"}},
                                         {"images/s", {"images_per_s"}}};
  write_picture("results.png", plot_results(csv_.table(), panels));
  plotted_ = std::chrono::steady_clock::now();
}

void RunReport::write_picture(const std::string& name, const cv::Mat& picture) {
  const std::filesystem::path file = folder_.file(name);
  files_.write(file, 0, [file, picture] { write_image(file, picture); });
}

void RunReport::write_table() {
  files_.write(folder_.metrics(), 0, [this] { csv_.save(); });
}

void RunReport::write_events() {
  files_.write(events_.file(), 0, [this] { events_.flush(); });
}

}  // namespace brightnet
