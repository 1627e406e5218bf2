#include "train/report/progress_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/progress_line.h"

namespace brightnet {
namespace {

/// "AP50 0.512 AP 0.301", with the epoch or iteration that they are of; nothing without ground truth.
std::string scores_text(const RunProgress& run) {
  const LastScores& scores = *run.scores;
  if (scores.AP == no_truths) return "";
  const std::string text = fmt::format("  AP50 {:.3f} AP {:.3f}", scores.AP50, scores.AP);
  if (run.just_evaluated) return text;
  if (run.iterations > 0) {
    const double iteration = scores.epoch * run.steps_per_epoch;
    return text +
           fmt::format(" (iteration {:.0f})", std::min(iteration, static_cast<double>(run.iterations)));
  }
  const bool whole = scores.epoch == std::floor(scores.epoch);
  return text + (whole ? fmt::format(" (epoch {:.0f})", scores.epoch)
                       : fmt::format(" (epoch {:.2f})", scores.epoch));
}

}  // namespace

std::optional<LastScores> last_scores(const MetricsTable& table, double epochs_done) {
  const int AP = table.column("AP"), AP50 = table.column("AP50");
  if (AP < 0 || AP50 < 0) return std::nullopt;
  for (auto row = table.rows.rbegin(); row != table.rows.rend(); ++row) {
    const double epoch = (*row)[0], score = (*row)[AP];
    if (epoch > epochs_done + epoch_rounding || std::isnan(score)) continue;
    return LastScores{.epoch = epoch, .AP50 = (*row)[AP50], .AP = score};
  }
  return std::nullopt;
}

std::string position_text(const TrainingStatus& run) {
  if (run.iterations > 0) return fmt::format("iteration {}/{}", run.iteration, run.iterations);
  const std::string text =
      fmt::format("epoch {}/{}", run.epoch, run.epochs > 0 ? std::to_string(run.epochs) : "?");
  return run.step > 0 ? text + fmt::format(" {}/{}", run.step, run.steps_per_epoch) : text;
}

std::string evaluation_text(int64_t done, int64_t images) {
  return fmt::format("evaluating {}/{} images", done, images);
}

std::string progress_text(const RunProgress& run) {
  const MeanLoss loss = mean_loss(run.losses);
  const EpochSums& s = run.sums;
  const double seconds = std::max(1e-9, s.seconds);
  const bool learned = run.losses.images > 0;
  std::string text = position_text(run);
  if (learned) text += fmt::format("  loss {:.3f}", loss.total());
  if (run.just_evaluated && run.scores && run.scores->loss)
    text += fmt::format("  val loss {:.3f}", *run.scores->loss);
  if (run.seconds_left >= 0) text += "  ETA " + format_seconds(run.seconds_left);
  if (run.scores) text += scores_text(run);
  text += fmt::format("  lr {:.2g}", run.rate);
  text += fmt::format("  {:.1f} images/s  data-wait {:.0f} %", s.images / seconds, 100 * s.waited / seconds);
  if (run.loss_scale > 0) text += fmt::format("  loss scale {:g}", run.loss_scale);
  if (run.many_ranks) text += fmt::format("  comm-wait {:.0f} %", 100 * s.comm_waited / seconds);
  if (run.device_beside_host) text += fmt::format("  GPU-busy {:.0f} %", 100 * s.busy / seconds);
  if (!learned) return text;
  text += fmt::format("  box {:.3f} obj {:.3f} cls {:.3f}", loss.box, loss.objectness, loss.classes);
  if (run.losses.distillation > 0) text += fmt::format(" distill {:.3f}", loss.distillation);
  return text;
}

}  // namespace brightnet
