#include "train/run/run_report.h"

#include <algorithm>
#include <cmath>

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

// TensorBoard's events: no more than about 10 MB in a run of any length, most of it pictures.
constexpr size_t picture_budget = 7 << 20, point_budget = 1 << 20, events_budget = 10 << 20;
constexpr size_t largest_picture = 1 << 20, point_bytes = 512;

MetricsCsv open_csv(const std::filesystem::path& file, const std::vector<std::string>& classes,
                    double after_epoch) {
  if (after_epoch < 0) return MetricsCsv(file, metric_columns(classes));
  return MetricsCsv(file, metric_columns(classes), after_epoch);
}

/// What is left of a budget of the events after the part that the folder's event files have spent.
Thinning rest_of(size_t budget, const std::filesystem::path& folder) {
  std::error_code ignored;
  double bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().rfind("events.out.tfevents.", 0) == 0)
      bytes += static_cast<double>(entry.file_size(ignored));
  }
  const double spent = std::min(1.0, bytes / static_cast<double>(events_budget));
  return Thinning(budget, static_cast<size_t>(spent * static_cast<double>(budget)));
}

}  // namespace

RunReport::RunReport(const RunFolder& folder, OutputFiles& files, std::vector<std::string> classes,
                     double after_epoch, int64_t iteration)
    : folder_(folder),
      files_(files),
      classes_(std::move(classes)),
      csv_(open_csv(folder.metrics(), classes_, after_epoch)),
      events_(folder.path(), iteration),
      pictures_(rest_of(picture_budget, folder.path())),
      points_(rest_of(point_budget, folder.path())) {
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
  const std::vector<std::string> columns = metric_columns(classes_);
  const std::vector<double> values = metric_values(summary, classes_.size());
  csv_.add(summary.epoch, values);
  write_table();
  for (size_t i = 0; i < values.size(); ++i) {
    // Points within an epoch are add_point()'s; this one would be the mean of a part of the epoch.
    if (std::isnan(values[i]) || !(summary.whole || is_of_validation(columns[i]))) continue;
    events_.scalar(curve_name(columns[i]), static_cast<float>(values[i]), summary.iteration);
  }
  write_events();
  if (std::chrono::steady_clock::now() - plotted_ >= between_plots) plot();
}

void RunReport::add_configuration(const std::string& yaml, int64_t iteration) {
  events_.text("configuration", "```yaml\n" + yaml + "\n```", iteration);
  write_events();
}

void RunReport::add_point(const TrainingPoint& point) {
  const LossTotals& l = point.losses;
  if (l.images <= 0 || !points_.next(point_bytes)) return;
  points_.spend(point_bytes);
  const auto add = [&](const char* name, double value) {
    events_.scalar(std::string("step/") + name, static_cast<float>(value), point.iteration);
  };
  add("loss", (l.box + l.objectness + l.classes) / l.images);
  add("box_loss", l.box / l.images);
  add("objectness_loss", l.objectness / l.images);
  add("class_loss", l.classes / l.images);
  add("learning_rate", point.rate);
  if (point.sums.seconds > 0) add("images_per_s", point.sums.images / point.sums.seconds);
  write_events();
}

std::optional<LastScores> RunReport::last_scores() const {
  const MetricsTable table = csv_.table();
  const auto AP = static_cast<size_t>(table.column("AP")), AP50 = static_cast<size_t>(table.column("AP50"));
  for (auto row = table.rows.rbegin(); row != table.rows.rend(); ++row) {
    if (!std::isnan((*row)[AP]))
      return LastScores{.epoch = (*row)[0], .AP50 = (*row)[AP50], .AP = (*row)[AP]};
  }
  return std::nullopt;
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
    if (sheet == 0 && pictures_.next(largest_picture))
      pictures_.spend(events_.image("val/predictions", together, iteration));
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
