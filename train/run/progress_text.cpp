#include "train/run/progress_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "train/run/progress_line.h"

namespace brightnet {
namespace {

/// Formats a metric; "-" when it is negative (no_truths: no ground truth).
std::string metric(const Metrics* metrics, double Metrics::*which) {
  return metrics && metrics->*which >= 0 ? fmt::format("{:.3f}", metrics->*which) : "-";
}

}  // namespace

std::string progress_text(const RunProgress& run) {
  const LossTotals& l = run.losses;
  const EpochSums& s = run.sums;
  const double seconds = std::max(1e-9, s.seconds);
  const auto loss = [&](double sum) {
    return l.images > 0 ? fmt::format("{:.3f}", sum / l.images) : std::string("-");
  };
  std::string text = fmt::format("epoch {}/{}", run.epoch, run.epochs > 0 ? std::to_string(run.epochs) : "?");
  if (run.step > 0) text += fmt::format(" {}/{}", run.step, run.steps_per_epoch);
  if (run.iterations > 0) text = fmt::format("iteration {}/{}", run.iteration, run.iterations);
  text += fmt::format("  loss {}  ETA {}  AP50 {} AP {}  lr {:.2g}", loss(l.box + l.objectness + l.classes),
                      run.seconds_left < 0 ? "-" : format_seconds(run.seconds_left),
                      metric(run.metrics, &Metrics::AP50), metric(run.metrics, &Metrics::AP), run.rate);
  text += fmt::format("  {:.1f} images/s  data-wait {:.0f} %", s.images / seconds, 100 * s.waited / seconds);
  if (run.loss_scale > 0) text += fmt::format("  loss scale {:g}", run.loss_scale);
  if (run.many_ranks) text += fmt::format("  comm-wait {:.0f} %", 100 * s.comm_waited / seconds);
  if (run.device_beside_host) text += fmt::format("  GPU-busy {:.0f} %", 100 * s.busy / seconds);
  return text + fmt::format("  box {} obj {} cls {}", loss(l.box), loss(l.objectness), loss(l.classes));
}

}  // namespace brightnet
