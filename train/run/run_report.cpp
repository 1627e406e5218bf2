#include "train/run/run_report.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "train/run/evaluation_pictures.h"
#include "train/run/report/draw.h"
#include "train/run/report/plots.h"
#include "train/run/report/typeface.h"

namespace brightnet {
namespace {

constexpr int pictured_batches = 3, pictured_per_batch = 16;
// A plot takes a tenth of a second, too long to draw one after each short epoch.
constexpr std::chrono::seconds between_plots{20};

const std::vector<std::string>& metric_columns() {
  static const std::vector<std::string> columns{
      "box_loss",      "objectness_loss", "class_loss", "loss", "iou",  "learning_rate", "loss_scale",
      "images_per_s",  "data_wait",       "comm_wait",  "AP",   "AP50", "AP75",          "AR",
      "gradient_norm", "clipped",         "seconds"};
  return columns;
}

std::string batch_title(int number) {
  return fmt::format("Training samples {}", number + 1);
}

std::string worst_title(size_t sheet) {
  return fmt::format("Validation images, the worst first ({})", sheet + 1);
}

/// The page that an earlier process of the run wrote; an empty one where there is none.
Page page_in(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return Page("", "");
  try {
    return Page::read(read_file(file));
  } catch (const InputError&) {  // it cannot be read: it will be replaced
    return Page("", "");
  }
}

void keep_picture(const Json& section, std::vector<Json>& pictures) {
  if (!section.is_null()) pictures.push_back(section);
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

RunReport::RunReport(const RunFolder& folder, OutputFiles& files, RunDescription run, int after_epoch,
                     int best_epoch, int64_t iteration)
    : folder_(folder),
      files_(files),
      run_(std::move(run)),
      csv_(open_csv(folder.metrics(), after_epoch)),
      events_(folder.path(), iteration) {
  if (const std::string problem = typeface_problem(run_.classes); !problem.empty())
    spdlog::warn("{}", problem);
  standing_.best_epoch = best_epoch;
  if (after_epoch >= 0) {
    before_ = page_in(folder_.file("report.html"));
    for (int i = 0; i < pictured_batches; ++i) keep_picture(before_.section(batch_title(i)), train_pictures_);
    for (size_t i = 0; i < pictured_images; ++i) keep_picture(before_.section(worst_title(i)), val_pictures_);
  }
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
    draw_truths(pictures.back(), batch.truths[static_cast<size_t>(i)], run_.classes);
  }
  const cv::Mat together = tile(pictures);
  write_picture("train_batch" + std::to_string(number) + ".jpg", together);
  if (number > 0) return;
  Page page("", "");
  page.picture(batch_title(0), "As the network sees them: after augmentation, with the boxes of the labels.",
               together);
  train_pictures_ = {page.section(batch_title(0))};
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

void RunReport::add_best(const Metrics& metrics, const Dataset& val, const WorstImages& worst, int epoch,
                         int64_t iteration) {
  standing_.best_epoch = epoch;
  best_ = metrics;
  standing_.best = &*best_;
  plot_evaluation(metrics, [this](const std::string& name, const cv::Mat& rgb) { write_picture(name, rgb); });
  Page page("", "");
  val_pictures_.clear();
  picture_worst(val, worst, "val_pred", [&](const std::string& name, const cv::Mat& rgb) {
    if (name == "val_pred0.jpg") events_.image("val/predictions", rgb, iteration);
    write_picture(name, rgb);
    const std::string title = worst_title(val_pictures_.size());
    page.picture(title, name, rgb);
    val_pictures_.push_back(page.section(title));
  });
  write_events();
}

void RunReport::finish(std::vector<std::string> sentences) {
  standing_.over = true;
  standing_.sentences = std::move(sentences);
  plot();
}

void RunReport::plot() {
  write_picture("results.png", plot_panels(results_panels(csv_.table()), "epoch", standing_.best_epoch));
  write_page();
  plotted_ = std::chrono::steady_clock::now();
}

void RunReport::write_page() {
  standing_.curves = csv_.table();
  standing_.pictures = val_pictures_;
  standing_.pictures.insert(standing_.pictures.end(), train_pictures_.begin(), train_pictures_.end());
  const std::filesystem::path file = folder_.file("report.html");
  files_.write(file, 0,
               [file, html = run_page(run_, standing_, before_).html()] { write_atomically(file, html); });
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
