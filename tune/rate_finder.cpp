#include "tune/rate_finder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/log.h"
#include "core/progress_line.h"
#include "core/require_memory.h"
#include "train/loop/training_step.h"

namespace brightnet {
namespace {

/// Steps whose batches take turns. On other batches at every step, the loss varies by more than it falls: one
/// has three objects and the next one thirty.
constexpr size_t turns = 8;

/// A micro-batch that stays.
struct KeptBatch {
  Batch batch;
  std::vector<uint8_t> pixels;
};

Loader::Setup loader_setup(const Preparation& run, size_t batches) {
  const RunConfig& config = run.config;
  Loader::Setup loader;
  loader.dataset = &run.training;
  loader.augment = config.augment;
  loader.augment.mosaic_off = 0;  // the sweep stands for a run's beginning
  loader.loader = config.loader;
  loader.batch = config.train.micro_batch;
  loader.sizes = config.input_sizes();
  loader.channels = run.model.channels;
  loader.seed = config.train.seed;
  loader.steps_per_epoch = batches;
  return loader;
}

/// The micro-batches of a run's first steps.
std::vector<KeptBatch> first_batches(const Preparation& run, size_t count) {
  const Loader::Setup setup = loader_setup(run, count);
  const auto pixels =
      setup.batch * static_cast<size_t>(setup.channels) * run.config.train.size.value().pixels();
  require_memory(fmt::format("keeping {} batches of {} images", count, setup.batch), count * pixels,
                 free_memory_of_host(), [] { return "Lower train.batch or train.size."; });
  Loader loader(setup);
  std::vector<KeptBatch> kept(count);
  for (KeptBatch& one : kept) {
    const Batch* batch = loader.next();
    BRIGHTNET_CHECK(batch, "the loader ended before the sweep");
    one.batch = *batch;
    const size_t bytes =
        run.model.channels * static_cast<size_t>(batch->count) * batch->height * batch->width;
    one.pixels.assign(batch->pixels, batch->pixels + bytes);
    one.batch.pixels = one.pixels.data();
  }
  return kept;
}

/// The loss per image of one step at this rate; infinite when its gradient was not finite.
double loss_of_step(TrainingStep& step, std::span<const KeptBatch> batches, double rate) {
  OptimizerStep& optimizer = step.optimizer();
  optimizer.clear_sums();
  const int64_t skipped = optimizer.state().skipped;
  optimizer.set_rate(static_cast<float>(rate));
  for (size_t part = 0; part < batches.size(); ++part) step.pass(batches[part].batch, static_cast<int>(part));
  step.update();
  const StepState state = optimizer.state();
  const LossTotals& sums = state.sums;
  if (state.skipped > skipped || sums.images <= 0) return std::numeric_limits<double>::infinity();
  return (sums.box + sums.objectness + sums.classes) / sums.images;
}

/// The more predictions simota assigns, the higher the loss: it falls when the rate destroys them, and a sweep
/// would suggest that rate. What `neighbours` assigns does not depend on the predictions.
void fix_assignment(Model& model) {
  for (LayerDescription& layer : model.layers) {
    auto* yolo = std::get_if<YoloAttributes>(&layer.attributes);
    if (yolo) yolo->head.assignment = static_form(yolo->head.assignment);
  }
}

}  // namespace

Preparation prepare_sweep(const RunRequest& request, const std::string& device) {
  Communicator& alone = Communicator::solo();
  Preparation run = prepare(request, common_device(alone, [&] { return device; }), alone);
  fit_into_memory(run, alone);
  run.config.train.sizes.clear();
  run.config.ema.decay = 0.0f;
  fix_assignment(run.model);
  if (run.config.distillation) {
    Distillation distillation = *run.config.distillation;
    fix_assignment(distillation.student);
    run.config.distillation = std::make_shared<const Distillation>(std::move(distillation));
  }
  return run;
}

std::vector<RatePoint> sweep_rates(Preparation& run, const RateSweep& sweep, const std::stop_token& stop) {
  TrainingStep step(
      {.config = run.config, .model = run.model, .layout = *run.layout, .backend = *run.backend},
      run.initial);
  const auto parts = static_cast<size_t>(step.micro_batches());
  const std::vector<KeptBatch> batches = first_batches(run, turns * parts);
  // Under a scaled loss the first steps may overflow until the scale is found: they do not count.
  int spare = step.optimizer().scales_loss() ? run.config.optimizer.max_skips : 0;
  ProgressLine line(run.config.train.log_every);
  std::vector<RatePoint> points;
  std::vector<double> first;  // losses of the batches' first turns
  while (static_cast<int>(points.size()) < sweep.steps && !stop.stop_requested()) {
    const size_t number = points.size(), turn = number % turns;
    const double rate = sweep_rate(sweep.low, sweep.high, static_cast<int>(number), sweep.steps);
    const double loss = loss_of_step(step, std::span(batches).subspan(turn * parts, parts), rate);
    if (std::isinf(loss) && spare-- > 0) continue;
    if (first.size() < turns) first.push_back(loss);
    points.push_back({rate, loss / first[turn]});
    smooth_losses(points);
    if (has_diverged(points)) break;
    if (line.due()) {
      line.show(fmt::format("step {}/{}  rate {:.2g}  loss {:.4g}, {:.3g} of the first", number + 1,
                            sweep.steps, rate, loss, points.back().loss));
    }
  }
  line.clear();
  run.backend->finish_uploads();  // they read the batches
  return points;
}

std::string rates_table(const std::vector<RatePoint>& points, int rows) {
  std::string text = fmt::format("{:>10}  {:>10}  {:>10}\n", "rate", "loss", "smoothed");
  const auto count = static_cast<int>(points.size());
  const int step = std::max(1, count / std::max(1, rows));
  for (int i = 0; i < count; i += step) {
    const RatePoint& point = points[i];
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
