#include "train/report/report_files.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "data/drawing/draw.h"
#include "data/drawing/typeface.h"
#include "data/image/grey.h"
#include "train/report/evaluation_pictures.h"
#include "train/report/label_plot.h"
#include "train/report/plots.h"

namespace brightnet {
namespace {

constexpr int pictured_batches = 3, pictured_per_batch = 16;
// A plot takes a tenth of a second, too long to draw one after each short epoch.
constexpr double between_plots = 20;

// TensorBoard's events: no more than about 10 MB in a run of any length, most of it pictures.
constexpr size_t picture_budget = 7 << 20, point_budget = 1 << 20, events_budget = 10 << 20;
constexpr size_t largest_picture = 1 << 20, point_bytes = 512;

MetricsCsv open_csv(const std::filesystem::path& file, const RunDescription& run, double after_epoch) {
  const std::vector<std::string> columns = metric_columns(run.classes, run.taught);
  return after_epoch < 0 ? MetricsCsv(file, columns) : MetricsCsv(file, columns, after_epoch);
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
    return Page::read(read_file(file, most_list_bytes));
  } catch (const InputError&) {  // it cannot be read: it will be replaced
    return Page("", "");
  }
}

void keep_picture(const Json& section, std::vector<Json>& pictures) {
  if (!section.is_null()) pictures.push_back(section);
}

/// What is left of a budget of the events after the part that the folder's event files have spent.
Thinning rest_of(size_t budget, const std::filesystem::path& folder) {
  std::error_code ignored;
  double bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().rfind("events.out.tfevents.", 0) == 0)
      bytes += entry.file_size(ignored);
  }
  const double spent = std::min(1.0, bytes / events_budget);
  return Thinning(budget, static_cast<size_t>(spent * budget));
}

}  // namespace

RunReport::RunReport(const RunFolder& folder, OutputFiles& files, BestEffort& best_effort, RunDescription run,
                     double after_epoch, int best_epoch, int64_t first_step, const Metrics* earlier_best)
    : folder_(folder),
      files_(files),
      best_effort_(best_effort),
      run_(std::move(run)),
      csv_(open_csv(folder.metrics(), run_, after_epoch)),
      events_(folder.path(), first_step),
      pictures_(rest_of(picture_budget, folder.path())),
      points_(rest_of(point_budget, folder.path())),
      plotted_(seconds_now()) {
  if (const std::string problem = typeface_problem(run_.classes); !problem.empty()) log::warn("{}", problem);
  standing_.best_epoch = best_epoch;
  if (earlier_best) standing_.earlier_best = &earlier_best_.emplace(*earlier_best);
  if (after_epoch >= 0) best_effort_.attempt("What report.html had before", [this] { read_page(); });
  write_table();
  write_events();
}

void RunReport::read_page() {
  before_ = page_in(folder_.file("report.html"));
  for (int i = 0; i < pictured_batches; ++i) keep_picture(before_.section(batch_title(i)), train_pictures_);
  for (size_t i = 0; i < pictured_images; ++i) keep_picture(before_.section(worst_title(i)), val_pictures_);
}

void RunReport::add_labels(const Dataset& train) {
  best_effort_.attempt("The picture of the labels (labels.jpg)", [&] {
    const cv::Mat picture = plot_labels(train);
    write_picture("labels.jpg", picture);
    const char* const title = "Labels of the training images";
    Page page("", "");
    page.picture(
        title,
        "Boxes of each class; the same boxes around one centre; where their centres lie and how large they are, as "
        "fractions of the image; and how these go together.",
        picture);
    label_pictures_ = {page.section(title)};
  });
}

void RunReport::add_batch(const Batch& batch, int64_t number) {
  if (number >= pictured_batches) return;
  best_effort_.attempt("A picture of training samples (train_batch*.jpg)",
                       [&] { picture_batch(batch, number); });
}

void RunReport::picture_batch(const Batch& batch, int64_t number) {
  std::vector<cv::Mat> pictures;
  const InputSize size(batch.height, batch.width);
  const size_t bytes = batch.channels * static_cast<size_t>(size.pixels());
  const size_t row_bytes = batch.channels * static_cast<size_t>(size.width);
  std::vector<uint8_t> painted(bytes);  // what a device paints, on the host
  for (int i = 0; i < std::min(batch.count, pictured_per_batch); ++i) {
    const uint8_t* pixels = batch.pixels ? batch.pixels + i * bytes : painted.data();
    for (int y = 0; y < size.height && !batch.pixels; ++y)
      paint_row(batch.pictures, i, y, size.width, batch.channels, painted.data() + y * row_bytes);
    pictures.push_back(rgb_of(pixels, size, batch.channels));
    draw_truths(pictures.back(), batch.truths[i], run_.classes);
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
  curves_are_drawn_ = all_is_drawn_ = false;
  best_effort_.attempt("A row of metrics.csv and TensorBoard", [&] { write_row(summary); });
  if (plot_due()) plot();
}

void RunReport::write_row(const EpochSummary& summary) {
  const std::vector<std::string> columns = metric_columns(run_.classes, run_.taught);
  const std::vector<double> values = metric_values(summary, run_.classes.size(), run_.taught);
  csv_.add(summary.epoch, values);
  write_table();
  for (size_t i = 0; i < values.size(); ++i) {
    // Points within an epoch are add_point()'s; this one would be the mean of a part of the epoch.
    if (std::isnan(values[i]) || !(summary.whole || is_of_validation(columns[i]))) continue;
    events_.scalar(curve_name(columns[i]), static_cast<float>(values[i]), summary.iteration);
  }
  write_events();
}

void RunReport::add_configuration(const std::string& yaml, int64_t iteration) {
  best_effort_.attempt("The configuration in TensorBoard", [&] {
    events_.text("configuration", "```yaml\n" + yaml + "\n```", iteration);
    write_events();
  });
}

void RunReport::add_point(const TrainingPoint& point) {
  best_effort_.attempt("A point of TensorBoard's curves", [&] { write_point(point); });
}

void RunReport::write_point(const TrainingPoint& point) {
  const LossTotals& l = point.losses;
  if (l.images <= 0 || !points_.next(point_bytes)) return;
  points_.spend(point_bytes);
  const auto add = [&](const char* name, double value) {
    events_.scalar(std::string("step/") + name, static_cast<float>(value), point.iteration);
  };
  const MeanLoss loss = mean_loss(l);
  add("loss", loss.total());
  add("box_loss", loss.box);
  add("objectness_loss", loss.objectness);
  add("class_loss", loss.classes);
  if (l.distillation > 0) add("distill_loss", loss.distillation);
  if (l.steps > 0) {
    add("gradient_norm", l.norm / l.steps);
    add("clipped", l.clipped / l.steps);
  }
  add("learning_rate", point.rate);
  if (point.sums.seconds > 0) add("images_per_s", point.sums.images / point.sums.seconds);
  write_events();
}

void RunReport::add_best(const Metrics& metrics, const Dataset& val, int epoch, int64_t iteration) {
  standing_.best_epoch = epoch;
  best_ = metrics;
  standing_.best = &*best_;
  val_ = &val;
  best_is_drawn_ = curves_are_drawn_ = all_is_drawn_ = false;
  if (pictures_.next(largest_picture)) {
    best_effort_.attempt("A picture in TensorBoard", [&] {
      if (const cv::Mat sheet = picture_worst(val, metrics, 0); !sheet.empty())
        pictures_.spend(events_.image("val/predictions", sheet, iteration));
      write_events();
    });
  }
  if (plot_due()) plot();
}

/// Takes a second or two, which an evaluation of a small split does not.
void RunReport::draw_best() {
  best_is_drawn_ = true;
  best_effort_.attempt("A plot of the best evaluation (pr_curve.png and others)", [this] {
    plot_evaluation(*best_,
                    [this](const std::string& name, const cv::Mat& rgb) { write_picture(name, rgb); });
  });
  best_effort_.attempt("A picture of validation images (val_pred*.jpg)", [this] { picture_best(); });
}

void RunReport::picture_best() {
  Page page("", "");
  val_pictures_.clear();
  for (size_t sheet = 0; sheet < worst_sheets(best_->worst.size()); ++sheet) {
    const cv::Mat picture = picture_worst(*val_, *best_, sheet);
    if (picture.empty()) continue;
    const std::string name = worst_name("val_pred", sheet), title = worst_title(sheet);
    write_picture(name, picture);
    page.picture(title, name, picture);
    val_pictures_.push_back(page.section(title));
  }
}

void RunReport::finish(std::vector<std::string> sentences) {
  standing_.over = true;
  standing_.sentences = std::move(sentences);
  plot();
}

bool RunReport::plot_due() const {
  return seconds_now() - plotted_ >= between_plots;
}

void RunReport::plot() {
  if (!best_is_drawn_) draw_best();
  if (!curves_are_drawn_) {
    best_effort_.attempt("The plot of the curves (results.png)", [this] {
      write_picture("results.png", plot_panels(results_panels(csv_.for_drawing(), run_.settling_epochs),
                                               "epoch", standing_.best_epoch));
      curves_are_drawn_ = true;
    });
  }
  best_effort_.attempt("The report page (report.html)", [this] { write_page(); });
  all_is_drawn_ = true;
  plotted_ = seconds_now();
}

void RunReport::plot_rest() {
  if (!all_is_drawn_) plot();
}

void RunReport::write_page() {
  standing_.curves = csv_.for_drawing();
  standing_.totals = csv_.totals();
  standing_.pictures = val_pictures_;
  for (const auto& more : {train_pictures_, label_pictures_})
    standing_.pictures.insert(standing_.pictures.end(), more.begin(), more.end());
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
