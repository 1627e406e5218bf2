#include "train/tune/rate_finder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/log.h"
#include "train/loop/training_step.h"
#include "train/run/progress_line.h"

namespace brightnet {
namespace {

/// The batches of a run's first epochs, as Trainer has them.
std::unique_ptr<Loader> open_batches(const Preparation& run, int micro_batches, int steps) {
  const RunConfig& config = run.config;
  Loader::Setup loader;
  loader.dataset = &run.training;
  loader.augment = config.augment;
  loader.augment.mosaic_off = 0;  // the sweep stands for a run's beginning
  loader.loader = config.loader;
  loader.batch = config.train.micro_batch;
  loader.sizes = config.input_sizes();
  loader.seed = config.train.seed;
  loader.epochs = 1;
  loader.steps_per_epoch = static_cast<uint64_t>(steps) * static_cast<uint64_t>(micro_batches);
  Backend& backend = *run.backend;
  loader.buffers = {[&backend](size_t bytes) { return backend.allocate_host(bytes); },
                    [&backend](void* memory) { backend.release_host(memory); }};
  return std::make_unique<Loader>(loader);
}

/// The loss per image of one step at this rate; infinite when its gradient was not finite.
double loss_of_step(TrainingStep& step, Loader& loader, Backend& backend, double rate) {
  OptimizerStep& optimizer = step.optimizer();
  optimizer.clear_sums();
  const int64_t skipped = optimizer.state().skipped;
  optimizer.set_rate(static_cast<float>(rate));
  for (int part = 0; part < step.micro_batches(); ++part) {
    backend.finish_uploads();  // the loader reuses the last batch's pixels
    const Batch* batch = loader.next();
    BRIGHTNET_CHECK(batch, "the loader ended before the sweep");
    step.pass(*batch, part);
  }
  step.update();
  const StepState state = optimizer.state();
  const LossTotals& sums = state.sums;
  if (state.skipped > skipped || sums.images <= 0) return std::numeric_limits<double>::infinity();
  return (sums.box + sums.objectness + sums.classes) / sums.images;
}

}  // namespace

Preparation prepare_sweep(RunRequest request, const std::string& device) {
  request.assignments.insert(request.assignments.end(), {"train.sizes=[]", "ema.decay=0"});
  return prepare(request, device, Communicator::solo());
}

std::vector<RatePoint> sweep_rates(Preparation& run, const RateSweep& sweep, const Interrupt& interrupt) {
  const RunFolder nowhere = RunFolder::at("");
  const TrainingSetup setup{run.config, run.model, run.training, run.validation, *run.backend, nowhere};
  TrainingStep step(setup, *run.layout, run.initial);
  // Under a scaled loss the first steps may overflow until the scale is found: they do not count.
  const int spare = step.optimizer().scales_loss() ? run.config.optimizer.max_skips : 0;
  const auto loader = open_batches(run, step.micro_batches(), sweep.steps + spare);
  ProgressLine line(run.config.train.log_every);
  std::vector<RatePoint> points;
  int skips = 0;
  while (static_cast<int>(points.size()) < sweep.steps && !interrupt.requested()) {
    const auto number = static_cast<int>(points.size());
    const double rate = sweep_rate(sweep.low, sweep.high, number, sweep.steps);
    const double loss = loss_of_step(step, *loader, *run.backend, rate);
    if (std::isinf(loss) && skips < spare) {
      ++skips;
      continue;
    }
    points.push_back({rate, loss});
    smooth_losses(points);
    if (has_diverged(points)) break;
    if (line.due())
      line.show(fmt::format("step {}/{}  rate {:.2g}  loss {:.4g}", number + 1, sweep.steps, rate, loss));
  }
  line.clear();
  run.backend->finish_uploads();  // they read the loader's buffers
  return points;
}

std::string rates_table(const std::vector<RatePoint>& points, int rows) {
  std::string text = fmt::format("{:>10}  {:>10}  {:>10}\n", "rate", "loss", "smoothed");
  const auto count = static_cast<int>(points.size());
  const int step = std::max(1, count / std::max(1, rows));
  for (int i = 0; i < count; i += step) {
    const RatePoint& point = points[static_cast<size_t>(i)];
    text += fmt::format("{:>10.2g}  {:>10.4g}  {:>10.4g}\n", point.rate, point.loss, point.smoothed);
  }
  return text;
}

std::string rates_csv(const std::vector<RatePoint>& points) {
  std::string text = "rate,loss,smoothed\n";
  for (const RatePoint& point : points)
    text += fmt::format("{:.6g},{:.6g},{:.6g}\n", point.rate, point.loss, point.smoothed);
  return text;
}

}  // namespace brightnet
