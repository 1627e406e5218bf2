// brightnet train: starts a run or resumes one.
#include <memory>
#include <sstream>

#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/metrics_table.h"
#include "core/log.h"
#include "core/text.h"
#include "core/threads.h"
#include "train/distributed/agreement.h"
#include "train/distributed/nccl.h"
#include "train/loop/trainer.h"
#include "train/setup/finetune.h"
#include "train/setup/preparation.h"
#include "train/setup/run_outcome.h"
#include "train/setup/run_place.h"

namespace brightnet::cli {
namespace {

struct TrainArguments {
  CommonOptions common;
  RunRequest request;
  int epochs = 0, batch = 0;  ///< 0: as the configuration says
  std::string size;           ///< "": likewise
};

void announce(const Preparation& run, const Trainer& trainer, const Communicator& ranks) {
  const RunConfig& config = run.config;
  log::info("{}: {:.2f} M parameters, {} {}, input {}, {} on {} with {} threads", run.model.name,
            static_cast<double>(run.layout->trainable_parameters()) / 1e6, run.model.classes,
            run.model.classes == 1 ? "class" : "classes", config.train.size.value().described(),
            enum_name(config.train.precision), run.backend->name(), compute_threads());
  if (const int frozen = frozen_convolutions(run.model); frozen > 0)
    log::info("{} frozen", counted(static_cast<size_t>(frozen), "convolution is", "convolutions are"));
  const std::string shared = ranks.alone() ? "" : " on " + std::to_string(ranks.size()) + " ranks";
  log::info("{} training and {} validation images; batch {} = {} x {}{}; {} of memory",
            run.training.images.size(), run.validation.images.size(), config.train.batch.value(),
            config.train.batch / config.train.micro_batch / ranks.size(), config.train.micro_batch.value(),
            shared, format_bytes(static_cast<double>(trainer.memory().peak())));
  if (!run.anchors.heads.empty()) log::info("{}", run.anchors.text());
  if (run.choices.empty()) return;
  log::info("Chosen for this run; the YAML or --set may give other values:");
  for (const std::string& line : describe(run.choices)) log::info("{}", line);
}

/// Whether it is there: a full disk does not end a run.
bool written(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::exists(file, error);
}

std::filesystem::path weights_to_use(const RunFolder& folder, const Progress& progress) {
  if (progress.averaged_score >= 0 && written(folder.averaged())) return folder.averaged();
  return progress.best_epoch > 0 && written(folder.best()) ? folder.best() : folder.last();
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
  if (trainer.best_metrics()) {
    // Line by line, since a rank's lines begin with its number.
    std::istringstream table(metrics_table(*trainer.best_metrics()));
    for (std::string line; std::getline(table, line);) log::info("{}", line);
  }
  if (trainer.progress().best_epoch > 0 && written(folder.best()))
    log::info("Best weights ({}): {}", time_of_best(config, trainer.progress()), folder.best().string());
  if (trainer.progress().averaged_score >= 0 && written(folder.averaged()))
    log::info("Average of the best weights, better than the best alone: {}", folder.averaged().string());
  if (written(folder.last())) log::info("Last weights: {}", folder.last().string());
  log::info("All of it on one page: {}", folder.file("report.html").string());
  if (const auto weights = weights_to_use(folder, trainer.progress()); written(weights)) {
    log::info("Detect {} in your own images: brightnet detect --weights {} --source FOLDER",
              dataset.classes.size() == 1 ? dataset.classes[0] : "objects", weights.string());
  }
  log::info("Everything else (results.png, metrics.csv, val_pred*.jpg, TensorBoard events): {}",
            folder.path().string());
}

/// What the curves say (train/run/report/closing_words.h).
void say_closing_words(const RunFolder& folder, Trainer& trainer, const Preparation& run,
                       bool stopped_early) {
  if (!trainer.best_metrics()) return;
  const std::vector<std::string> sentences = closing_words(run_outcome(trainer, run, folder, stopped_early));
  if (!sentences.empty()) log::info("{}", fmt::format("{}", fmt::join(sentences, " ")));
  trainer.report_closing_words(sentences);
}

/// Reports why a resumed run has nothing left to do.
void say_over(const RunConfig& config, const RunFolder& folder, const Progress& progress) {
  if (config.train.patience > 0 && progress.evaluations_since_best >= config.train.patience) {
    log::info(
        "This run stopped early: no better score in {} evaluations. To continue, "
        "resume it with --set train.patience=0.",
        config.train.patience.value());
    return;
  }
  log::info(
      "This run is finished: all its {} are done. To make it longer: brightnet train --resume {} "
      "--set {}; the learning rate then rises to what it is in the middle of so long a run. To start a new "
      "run from its weights: --weights {}.",
      config.train.iterations > 0 ? fmt::format("{} iterations", progress.iteration)
                                  : fmt::format("{} epochs", progress.epoch),
      folder.path().string(),
      config.train.minutes > 0      ? fmt::format("train.minutes=0 --set train.epochs={}", 2 * progress.epoch)
      : config.train.iterations > 0 ? fmt::format("train.iterations={}", 2 * progress.iteration)
                                    : fmt::format("train.epochs={}", 2 * progress.epoch),
      folder.last().string());
}

RunRequest request_of(const TrainArguments& arguments) {
  RunRequest request = arguments.request;
  request.config = arguments.common.config;
  request.assignments = arguments.common.all_assignments();
  const auto set = [&](const char* option, const std::string& assignment) {
    request.assignments.push_back(fmt::format("{}:train.{}", option, assignment));
  };
  if (arguments.epochs > 0) {
    set("--epochs", fmt::format("epochs={}", arguments.epochs));
    set("--epochs", "iterations=0");  // the length of a .cfg, which would win
  }
  if (!arguments.size.empty()) {
    set("--size", "size=" + arguments.size);
    // In the place of the sizes in the file, but not of those of a --set.
    request.assignments.insert(request.assignments.begin(), "--size:train.sizes=[]");
  }
  if (arguments.batch > 0) set("--batch", fmt::format("batch={}", arguments.batch));
  return request;
}

int train_on_rank(const TrainArguments& arguments, Communicator& ranks) {
  // A launcher forwards signals: they must not kill a rank at any time.
  std::optional<Interrupt> early;
  if (!ranks.alone()) early.emplace();
  const RankDevice device = common_device(ranks, [&] {
    arguments.common.check_ranks(ranks);
    return arguments.common.device_of(ranks);
  });
  RunRequest request;
  prepare_together(ranks, [&] { request = request_of(arguments); });
  const RunPlace place(request, ranks);
  if (ranks.leads()) arguments.common.say_data();
  const RunFolder& folder = place.folder();
  Preparation run;
  prepare_together(ranks, [&] { run = prepare(place.request(), device, ranks); });
  compare_ranks(ranks, run);
  write_description(folder, run, ranks);
  if (!early) early.emplace();
  const auto gpus = ranks.alone() ? nullptr : make_gpu_collectives(ranks, *run.backend);
  ranks.set_time_limit(run.config.train.comm_timeout);
  TrainingSetup setup{run.config,   run.model, run.training, run.validation,
                      *run.backend, folder,    ranks,        gpus ? *gpus : ranks.host_collectives()};
  for (const Choice& choice : run.choices) setup.choices.push_back({choice.key, choice.value, choice.reason});
  Trainer trainer(setup, *run.layout, run.initial);
  if (run.old) {
    prepare_together(ranks, [&] { trainer.resume(); });
    require_same(ranks, "saved state", std::to_string(trainer.progress().iteration));
  }
  announce(run, trainer, ranks);
  if (run.old && run.old->new_length && !trainer.over()) log::info("{}", trainer.describe_rest());
  if (trainer.over() && !trainer.average_due()) {
    say_over(run.config, folder, trainer.progress());
    say_where(run.config, folder, trainer, run.training);
    return static_cast<int>(ExitCode::done);
  }
  log::info("{} in {}", run.old ? "Resuming" : "Training", folder.path().string());

  const TrainingEnd end = trainer.run(*early);
  switch (end) {
    case TrainingEnd::interrupted:
      trainer.check_files();
      log::info(
          "Stopped by a signal after {} steps; everything is saved. Resume with: brightnet train --resume {}",
          trainer.progress().iteration, folder.path().string());
      return static_cast<int>(ExitCode::interrupted);
    case TrainingEnd::no_better:
      log::info("No better score in {} evaluations: training ends early.", run.config.train.patience.value());
      break;
    case TrainingEnd::finished: break;
  }
  if (ranks.leads()) say_closing_words(folder, trainer, run, end == TrainingEnd::no_better);
  say_where(run.config, folder, trainer, run.training);
  trainer.check_files();
  return static_cast<int>(ExitCode::done);
}

/// Checks the configuration before ranks are started, so that an error is reported once.
void check_before_launch(const TrainArguments& arguments) {
  const RunRequest request = with_run_found(request_of(arguments));
  const RunConfig config = request.resuming      ? open_old_run(request).config
                           : request.begin_again ? config_of_begun_run(request)
                                                 : requested_config(request);
  check_batch(config.train, arguments.common.ranks, request.resuming);
}

int train(const TrainArguments& arguments) {
  keep_messages();  // for train.log: much is said before the run has a folder
  if (arguments.common.must_launch()) {
    check_before_launch(arguments);
    return arguments.common.launch();
  }
  const auto ranks = open_communicator();
  return run_as_rank(*ranks, [&] { return train_on_rank(arguments, *ranks); });
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("train", "train a model on a data set");
  const auto arguments = std::make_shared<TrainArguments>();
  arguments->common.needs_validation = true;
  arguments->common.add_config(*command);
  arguments->common.add_model(*command);
  arguments->common.add_data(*command);
  command->add_option("--epochs", arguments->epochs, "passes over the training images (train.epochs)")
      ->type_name("N")
      ->check(at_least(1));
  command
      ->add_option("--size", arguments->size,
                   "input in pixels: N, HxW (the height first), or auto: by the images' shapes (train.size)")
      ->type_name("N|HxW|auto");
  command->add_option("--batch", arguments->batch, "images of an optimizer step (train.batch)")
      ->type_name("N")
      ->check(at_least(1));
  command
      ->add_option(
          "--weights", arguments->request.weights,
          "pretrained weights: the .safetensors of a run, darknet's .weights or .conv.N, or a name that "
          "`brightnet download` lists")
      ->type_name("FILE|NAME");
  command->add_flag("--weights-partial", arguments->request.weights_partial,
                    "load the leading layers of a .weights file that matches the model only up to a point");
  command
      ->add_option("--weights-cfg", arguments->request.weights_cfg,
                   "the .cfg of a .weights file that belongs to another model")
      ->type_name("F.cfg");
  auto* resume = command->add_option(
      "--resume", arguments->request.resume,
      "resume a run; without a folder, the run of this configuration that was saved last");
  resume->type_name("[RUN]")->expected(0, 1);
  command
      ->add_option("--out", arguments->request.out,
                   "the run's folder, numbered if it exists (default: runs/NAME)")
      ->type_name("RUN");
  command->add_flag("--no-graph", arguments->request.no_graph,
                    "do not use CUDA graphs on a GPU (train.graph=false)");
  arguments->common.add_fold(*command);
  arguments->common.add_ranks(*command);
  arguments->common.add_device(*command);
  arguments->common.add_precision(*command);
  arguments->common.add_assignments(*command);
  command->callback([=, &action] {
    arguments->request.resuming = resume->count() > 0;
    action = [arguments] { return train(*arguments); };
  });
}

}  // namespace brightnet::cli
