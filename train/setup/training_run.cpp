#include "train/setup/training_run.h"

#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "core/host_memory.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/text.h"
#include "core/threads.h"
#include "detect/evaluate/average_precision.h"
#include "detect/evaluate/metrics_table.h"
#include "train/distributed/agreement.h"
#include "train/distributed/nccl.h"
#include "train/loop/trainer.h"
#include "train/report/observers.h"
#include "train/report/training_images.h"
#include "train/setup/chosen_folder.h"
#include "train/setup/finetune.h"
#include "train/setup/outcome.h"
#include "train/setup/preparation.h"

namespace brightnet {
namespace {

void announce(const Preparation& run, const Trainer& trainer, const Communicator& ranks) {
  const RunConfig& config = run.config;
  log::info("{}: {:.2f} M parameters, {} {}, input {}, {} on {} with {} threads", run.model.name,
            run.model_layout.trainable_parameters() / 1e6, run.model.classes,
            run.model.classes == 1 ? "class" : "classes", config.train.size.value().described(),
            enum_name(config.train.precision), run.backend->name(), compute_threads());
  if (const Distillation* distillation = config.distillation.get()) {
    log::info("Learning from {}: {}, {:.2f} M parameters", config.train.teacher, distillation->teacher.name,
              distillation->teacher_layout.trainable_parameters() / 1e6);
  }
  if (const int frozen = frozen_convolutions(run.model); frozen > 0)
    log::info("{} frozen", counted(frozen, "convolution is", "convolutions are"));
  const std::string shared = ranks.alone() ? "" : " on " + std::to_string(ranks.size()) + " ranks";
  const int passes = config.train.batch / config.train.micro_batch / ranks.size();
  log::info("{} training and {} validation images; batches of {}{}{}; {} of memory",
            run.training.images.size(), run.validation.images.size(), config.train.batch.value(),
            passes > 1 ? fmt::format(", in {} passes of {}", passes, config.train.micro_batch.value()) : "",
            shared, format_bytes(trainer.memory().peak()));
  if (!run.anchors.heads.empty()) log::info("{}", run.anchors.text());
  if (!run.choices.empty())
    log::info("Chosen for this run (to decide yourself, set them in the YAML or with --set):");
  for (const std::string& line : describe(run.choices)) log::info("{}", line);
  if (run.old && run.old->new_length && !trainer.over() && !trainer.length_trained())
    log::info("{}", trainer.describe_rest());
}

/// Whether a file was written: a run goes on when the disk is full.
bool written(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::exists(file, error);
}

bool has_average(const RunFolder& folder, const Progress& progress) {
  return progress.averaged_score >= 0 && written(folder.averaged());
}

struct WeightsToUse {
  std::filesystem::path file;
  double confidence = -1;  ///< at which they detect best; negative: not known
};

WeightsToUse weights_to_use(const RunFolder& folder, const Trainer& trainer) {
  const Progress& progress = trainer.progress();
  if (has_average(folder, progress)) return {folder.averaged(), progress.averaged_confidence};
  if (progress.best_epoch == 0 || !written(folder.best())) return {folder.last()};
  const auto& metrics = trainer.best_metrics();
  return {folder.best(), metrics && metrics->best.f1 > 0 ? metrics->best.score : -1};
}

/// When the best weights were evaluated: in iterations for a run whose length they are, as in darknet.
std::string time_of_best(const RunConfig& config, const Progress& progress) {
  for (const KeptSet& kept : progress.kept) {
    if (config.train.iterations > 0 && kept.score == progress.best_score)
      return fmt::format("iteration {}", kept.iteration);
  }
  return fmt::format("epoch {}", progress.best_epoch);
}

void say_where(const RunConfig& config, const RunFolder& folder, const Trainer& trainer,
               const Dataset& dataset) {
  const bool averaged = has_average(folder, trainer.progress());
  if (trainer.best_metrics()) {
    log::result("Scores of the best weights{}:",
                averaged ? ", not of their average, which scores better" : "");
    // Line by line, since a rank's lines begin with its number.
    std::istringstream table(metrics_table(*trainer.best_metrics()));
    for (std::string line; std::getline(table, line);) log::result("{}", line);
  }
  if (trainer.progress().best_epoch > 0 && written(folder.best())) {
    const int smooth = config.evaluate.smooth;
    log::result("Best weights ({}{}): {}", time_of_best(config, trainer.progress()),
                smooth > 1 ? fmt::format("; best {}, averaged over the last {} evaluations",
                                         enum_name(config.evaluate.best_by), smooth)
                           : "",
                folder.best().string());
  }
  if (averaged) {
    log::result("Average of the best weights, which scores better than they do ({} {:.4f}): {}",
                enum_name(config.evaluate.best_by), trainer.progress().averaged_score,
                folder.averaged().string());
  }
  if (written(folder.last())) log::result("Last weights: {}", folder.last().string());
  log::result("Report with plots and pictures: {}", folder.file("report.html").string());
  if (const WeightsToUse weights = weights_to_use(folder, trainer); written(weights.file)) {
    const auto& tiles = config.data.tiles;  // as the threshold was measured
    // Not rounded up: detections at the very confidence count.
    const float confidence = threshold_of(static_cast<float>(weights.confidence));
    log::result("Detect {} in your own images: brightnet detect --weights {} --source FOLDER{}{}{}",
                dataset.classes.size() == 1 ? dataset.classes[0] : "objects", shell_path(weights.file),
                weights.confidence >= 0 ? fmt::format(" --conf {:.3f}", confidence) : "",
                tiles ? fmt::format(" --tiles {},{:g}", tiles.size, tiles.overlap) : "",
                config.train.quantize ? " --precision int8" : "");
  }
  log::result("Everything else (results.png, metrics.csv, val_pred*.jpg, TensorBoard events): {}",
              folder.path().string());
}

/// Reports why a resumed run has nothing left to do.
void say_over(const RunConfig& config, const RunFolder& folder, const Trainer& trainer) {
  const Progress& progress = trainer.progress();
  const int64_t epochs = progress.epoch + (progress.step > 0 ? 1 : 0);  // the begun one too
  if (!trainer.length_trained()) {
    log::info(
        "This run stopped early: no better score in {} evaluations. To continue, "
        "resume it with --set train.patience=0.",
        config.train.patience.value());
    return;
  }
  const std::string weights = folder.weights_of_new_run();
  log::info(
      "This run is finished: all its {} are done. To make it longer: brightnet train --resume {} "
      "{}; the learning rate then rises to what it is in the middle of so long a run.{}",
      config.train.iterations > 0 ? fmt::format("{} iterations", progress.iteration)
                                  : fmt::format("{} epochs", epochs),
      shell_path(folder.path()),
      config.train.minutes > 0      ? fmt::format("--epochs {} --set train.minutes=0", 2 * epochs)
      : config.train.iterations > 0 ? fmt::format("--set train.iterations={}", 2 * progress.iteration)
                                    : fmt::format("--epochs {}", 2 * epochs),
      weights.empty() ? ""
                      : fmt::format(" To start a new run from its {}weights: {}.",
                                    config.train.quantize ? "first " : "", weights));
}

/// Attaches the observers, on rank 0.
void observe(std::optional<RunObservers>& observers, TrainingSetup& setup, const Preparation& run,
             const TrainingHost& host) {
  if (!setup.communicator.leads()) return;
  std::vector<std::vector<std::string>> choices;
  for (const Choice& choice : run.choices) choices.push_back({choice.key, choice.value, choice.reason});
  observers.emplace(setup, run.model_layout, std::move(choices));
  setup.observers = observers->all();
  setup.observers.insert(setup.observers.end(), host.observers.begin(), host.observers.end());
}

}  // namespace

TrainedRun run_training(const RunRequest& request, const RankDevice& device, Communicator& ranks,
                        const TrainingHost& host) {
  const RunPlace place(request, ranks);
  const RunFolder& folder = place.folder();
  host.folder_found(folder.path());
  Preparation run;
  prepare_together(ranks, [&] { run = prepare(place.request(), device, ranks); });
  // Connecting the GPUs takes some of their memory.
  const auto gpus = ranks.alone() ? nullptr : make_gpu_collectives(ranks, *run.backend);
  prepare_together(ranks, [&] { fit_into_memory(run, ranks); });
  compare_ranks(ranks, run);
  // Reading the data may have taken long.
  prepare_together(ranks, [&] { place.check(); });
  if (!run.old) write_description(folder, run, ranks);
  const std::stop_token stop = host.can_be_stopped();
  ranks.set_time_limit(run.config.train.comm_timeout);
  OutputFiles files;
  files.guard = [&place] { place.check(); };
  TrainingSetup setup{.config = run.config,
                      .model = run.model,
                      .train = run.training,
                      .val = run.validation,
                      .backend = *run.backend,
                      .folder = folder,
                      .files = files,
                      .communicator = ranks,
                      .collectives = gpus ? *gpus : ranks.host_collectives(),
                      .pictures = &run.training_pictures()};
  std::optional<RunObservers> observers;
  observe(observers, setup, run, host);
  Trainer trainer(setup, *run.layout, run.initial);
  if (run.old) {
    prepare_together(ranks, [&] { trainer.resume(); });
    require_same(ranks, "saved state", std::to_string(trainer.progress().iteration));
  }
  const auto ended = [&](std::optional<TrainingEnd> end) {
    return TrainedRun{end, folder.path(), weights_to_use(folder, trainer).file, trainer.progress(),
                      trainer.best_metrics()};
  };
  announce(run, trainer, ranks);
  if (trainer.over() && !trainer.average_due()) {
    say_over(run.config, folder, trainer);
    say_where(run.config, folder, trainer, run.training);
    return ended(std::nullopt);
  }
  if (run.old) write_description(folder, run, ranks);
  remark_on_ranks(run, ranks);
  place.say_number();
  log::info("{} in {}", run.old ? "Resuming" : "Training", folder.path().string());

  const TrainingEnd end = trainer.run(stop);
  if (end != TrainingEnd::interrupted) {
    const RunEnding ending{.stopped_early = end == TrainingEnd::no_better,
                           .training_images = measure_training_images(trainer, setup, stop)};
    if (ending.stopped_early)
      log::info("No better score in {} evaluations: training ends early (train.patience).",
                run.config.train.patience.value());
    if (observers) say_closing_words(run, folder, trainer.best_metrics(), ending, observers->report());
    BestEffort().attempt("The summary", [&] { say_where(run.config, folder, trainer, run.training); });
  }
  prepare_together(ranks, [&] {
    files.insist();
    files.check(folder);
  });
  return ended(end);
}

}  // namespace brightnet
