// brightnet train: a new run, or the rest of an old one.
#include "train/cli/train.h"

#include <algorithm>
#include <memory>
#include <sstream>

#include "core/files.h"
#include "core/log.h"
#include "core/threads.h"
#include "train/cli/metrics_table.h"
#include "train/device/device.h"
#include "train/distributed/agreement.h"
#include "train/distributed/nccl.h"
#include "train/formats/darknet/import.h"
#include "train/loop/trainer.h"
#include "train/run/run_lock.h"
#include "train/setup/automatic_anchors.h"
#include "train/setup/finetune.h"
#include "train/setup/memory_advice.h"
#include "train/setup/run_model.h"

namespace brightnet::cli {
namespace {

namespace fs = std::filesystem;

/// The run's folder gets everything that going on needs: it refers to nothing outside but the images.
void write_description(const RunFolder& folder, const RunConfig& config, const Model& model) {
  RunConfig own = config;
  own.model = folder.model().filename().string();
  own.train.weights.clear();
  own.train.weights_cfg.clear();
  own.train.weights_partial = false;
  write_atomically(folder.model(), model.yaml);
  write_atomically(folder.config(), print_config(own));
}

/// What darknet users look for: what was left out of their .cfg, and that nobody edits filters= here.
void say_what_was_imported(const RunConfig& config, int classes) {
  if (!is_darknet_cfg(config.model)) return;
  const DarknetImport imported = import_darknet(config.model);
  for (const ImportNote& note : imported.notes) spdlog::info("{}: {}", note.where, note.text);
  if (imported.declared_classes == classes) return;
  spdlog::info("{} is written for {} classes and the data set has {}: the heads are made for {}",
               config.model, imported.declared_classes, classes, classes);
}

/// Fresh parameters with what train.weights has over them. The rates of `model` follow from what that was.
std::vector<float> starting_parameters(RunConfig& config, Model& model, bool resuming) {
  const ParameterLayout layout(model);
  std::vector<float> values = initial_parameters(model, layout, config.train.seed);
  if (resuming) return values;
  if (!config.train.weights.empty()) {
    read_pretrained(config.train, model, layout, values);
    set_rates(model, config.train);
  } else if (config.train.pretrained_rate != 1 || !config.train.freeze.empty()) {
    spdlog::warn(
        "train.freeze and train.pretrained_rate are for layers that come with --weights, and none are "
        "given.");
  }
  return values;
}

/// train.micro_batch becomes a number that divides this rank's part of the batch.
void choose_micro_batch(RunConfig& config, const Model& model, Backend& backend, const Communicator& ranks,
                        bool resuming) {
  const int batch = batch_of_rank(config.train, ranks.size());
  int& micro_batch = config.train.micro_batch;
  if (micro_batch == 0) {
    // Ranks on one machine share its memory, but each has a GPU of its own.
    const size_t sharing = backend.works_beside_host() ? 1 : static_cast<size_t>(ranks.local_size());
    micro_batch = brightnet::choose_micro_batch(config, model, backend, batch,
                                                memory_budget(config, backend) / sharing);
    return;
  }
  if (resuming && batch % micro_batch != 0) {
    // The run goes on with more ranks than it had; each has fewer images.
    const int before = micro_batch;
    while (batch % micro_batch != 0) --micro_batch;
    if (ranks.leads()) {
      spdlog::warn(
          "With {} ranks, {} images make a micro-batch instead of {}: batch-norm sees fewer at a time.",
          ranks.size(), micro_batch, before);
    }
  }
  check_memory(config, model, backend);
}

/// What a run is made of. Every rank reads all of it.
struct Preparation {
  std::optional<OpenRun> old;
  std::unique_ptr<RunLock> lock;  ///< on rank 0, once there is a folder
  RunConfig config;
  std::unique_ptr<Backend> backend;
  Dataset training, validation;
  Model model;
  std::unique_ptr<ParameterLayout> layout;
  std::vector<float> initial;
};

RunConfig wanted_config(const TrainArguments& arguments) {
  auto assignments = arguments.common.all_assignments();
  if (!arguments.weights.empty())
    assignments.push_back("--weights:train.weights=" + quoted(arguments.weights));
  if (!arguments.weights_cfg.empty())
    assignments.push_back("--weights-cfg:train.weights_cfg=" + quoted(arguments.weights_cfg));
  if (arguments.weights_partial) assignments.push_back("train.weights_partial=true");
  if (arguments.common.config.empty()) {
    throw InputError("no configuration was given", "", "Write brightnet train CONFIG.yaml");
  }
  return load_run_config(arguments.common.config, assignments);
}

/// What can be meant, but hardly is, and costs much or gives nothing.
void remark_on_sizes(const RunConfig& config, const Dataset& training, const Dataset& validation) {
  const auto images = static_cast<int>(training.images.size());
  if (config.train.batch > images) {
    spdlog::warn(
        "train.batch is {} and there are {} training images: each step sees every image {:.3g} times. "
        "A batch of {} or less costs less memory and makes more steps of an epoch.",
        config.train.batch, images, static_cast<double>(config.train.batch) / images, images);
  }
  int side = 0;
  for (const ImageRecord& image : training.images) side = std::max({side, image.width, image.height});
  const auto sizes = config.input_sizes();
  const int size = *std::max_element(sizes.begin(), sizes.end());
  if (size > 1024 && size > 4 * side) {
    spdlog::warn(
        "The network's input is {} pixels wide and the largest training image has {}: enlarging adds work "
        "and memory, but no detail. Planning it takes long.",
        size, side);
  }
  const auto empty = [](const ImageRecord& image) { return image.annotations.empty(); };
  if (std::all_of(validation.images.begin(), validation.images.end(), empty)) {
    spdlog::warn(
        "No object is labelled in the validation split, so nothing can be scored: the newest weights count "
        "as the best.");
  }
}

Preparation prepare(const TrainArguments& arguments, const Communicator& ranks) {
  Preparation run;
  if (arguments.resuming) {
    run.old = open_old_run(arguments);
    if (ranks.leads()) run.lock = std::make_unique<RunLock>(run.old->folder);
    run.config = run.old->config;
  } else {
    run.config = wanted_config(arguments);
  }
  RunConfig& config = run.config;
  if (arguments.no_graph) config.train.graph = false;
  check_batch(config.train, ranks.size(), arguments.resuming);
  run.backend =
      open_device(arguments.common.device_of(ranks), config.train.precision, config.train.deterministic);
  // Reading the images of one split takes a while: what is wrong with the other is said before.
  for (const Split split : {Split::train, Split::val}) check_place(config.data, split);
  run.training = read_split(config, Split::train, ranks.leads());
  run.validation = read_split(config, Split::val, ranks.leads());
  if (ranks.leads()) remark_on_sizes(config, run.training, run.validation);
  resolve_anchors(config, run.training);
  run.model = load_model(config, static_cast<int>(run.training.classes.size()));
  if (!run.old && ranks.leads()) say_what_was_imported(config, run.model.classes);
  if (run.old && ranks.leads()) {
    const std::string differences = describe_differences(*run.old, arguments.common.config, run.model);
    if (!differences.empty()) spdlog::warn("{}", differences);
  }
  choose_micro_batch(config, run.model, *run.backend, ranks, run.old.has_value());
  run.initial = starting_parameters(config, run.model, run.old.has_value());
  run.layout = std::make_unique<ParameterLayout>(run.model);
  return run;
}

/// The same words for the same data.
std::string describe(const SplitFingerprint& print) {
  return fmt::format("{} {} {}", print.images, print.objects, print.hash);
}

/// Ranks read their own copies of everything, and these must be copies of the same.
void compare_ranks(Communicator& ranks, Preparation& run) {
  if (ranks.alone()) return;
  // Machines may have different amounts of free memory: all take what fits everywhere.
  int& micro_batch = run.config.train.micro_batch;
  for (const auto& other : ranks.all_gather(std::to_string(micro_batch))) {
    micro_batch = std::min(micro_batch, std::stoi(other));
  }
  RunConfig config = run.config;
  config.model = run.model.yaml;
  config.data.root.clear();
  config.train.weights.clear();
  config.loader = {};
  require_same(ranks, "configuration", print_config(config));
  require_same(ranks, "training split", describe(fingerprint(run.training)));
  require_same(ranks, "validation split", describe(fingerprint(run.validation)));
  require_same(ranks, "set of initial weights",
               {reinterpret_cast<const char*>(run.initial.data()), run.initial.size() * sizeof(float)});
}

/// The run's folder, which rank 0 makes.
RunFolder open_folder(const TrainArguments& arguments, Preparation& run, Communicator& ranks) {
  std::string path;
  prepare_together(ranks, [&] {
    if (run.old) {
      path = run.old->folder.path().string();
    } else if (ranks.leads()) {
      const RunFolder folder = RunFolder::create(arguments.out.empty() ? fs::path("runs") / run.config.name
                                                                       : fs::path(arguments.out));
      path = folder.path().string();
      run.lock = std::make_unique<RunLock>(folder);
      log_to_file(folder.log());
      write_description(folder, run.config, run.model);
    }
    if (run.old && ranks.leads()) log_to_file(run.old->folder.log());
  });
  return RunFolder::at(ranks.all_gather(path)[0]);
}

void announce(const Preparation& run, const Trainer& trainer, const Communicator& ranks) {
  const RunConfig& config = run.config;
  spdlog::info("{}: {:.2f} M parameters, {} {}, input {}x{}, {} on {} with {} threads", run.model.name,
               static_cast<double>(run.layout->trainable_parameters()) / 1e6, run.model.classes,
               run.model.classes == 1 ? "class" : "classes", config.train.size, config.train.size,
               enum_name(config.train.precision), run.backend->name(), compute_threads());
  if (const int frozen = frozen_convolutions(run.model); frozen > 0)
    spdlog::info("{} convolutions are frozen", frozen);
  const std::string shared = ranks.alone() ? "" : " on " + std::to_string(ranks.size()) + " ranks";
  spdlog::info("{} training and {} validation images; batch {} = {} x {}{}; {} of memory",
               run.training.images.size(), run.validation.images.size(), config.train.batch,
               config.train.batch / config.train.micro_batch / ranks.size(), config.train.micro_batch, shared,
               format_bytes(static_cast<double>(trainer.memory().peak())));
}

void say_where(const RunFolder& folder, const Trainer& trainer, const Dataset& dataset) {
  if (trainer.best_metrics()) {
    // Line by line, since a rank's lines begin with its number.
    std::istringstream table(metrics_table(*trainer.best_metrics()));
    for (std::string line; std::getline(table, line);) spdlog::info("{}", line);
  }
  if (trainer.progress().best_epoch > 0) {
    spdlog::info("Best weights (epoch {}): {}", trainer.progress().best_epoch, folder.best().string());
  }
  spdlog::info("Last weights: {}", folder.last().string());
  spdlog::info("Everything else (results.png, metrics.csv, val_pred*.jpg, TensorBoard events): {}",
               folder.path().string());
  spdlog::info("Find {} in your own images: brightnet detect --weights {} --source FOLDER",
               dataset.classes.size() == 1 ? dataset.classes[0] : "them",
               (trainer.progress().best_epoch > 0 ? folder.best() : folder.last()).string());
}

/// What to say of a run that is resumed when nothing is left to do.
void say_over(const RunConfig& config, const RunFolder& folder, const Progress& progress) {
  if (config.train.patience > 0 && progress.evaluations_since_best >= config.train.patience) {
    spdlog::info(
        "This run has ended early: no better score in {} evaluations. To go on with it all the same, "
        "resume it with --set train.patience=0.",
        config.train.patience);
    return;
  }
  spdlog::info(
      "This run is finished: all its {} epochs are done, and there is nothing left to train. To train "
      "further, start a new run with --weights {}.",
      progress.epoch, folder.last().string());
}

int train_on_rank(const TrainArguments& arguments, Communicator& ranks) {
  // From the very beginning where a launcher passes signals on: they must not be the end of a rank.
  std::optional<Interrupt> early;
  if (!ranks.alone()) early.emplace();
  Preparation run;
  prepare_together(ranks, [&] {
    arguments.common.check_ranks(ranks);
    run = prepare(arguments, ranks);
  });
  compare_ranks(ranks, run);
  const RunFolder folder = open_folder(arguments, run, ranks);
  if (!early) early.emplace();
  const auto gpus = ranks.alone() ? nullptr : make_gpu_collectives(ranks, *run.backend);
  ranks.set_time_limit(run.config.train.comm_timeout);
  Trainer trainer({run.config, run.model, run.training, run.validation, *run.backend, folder, ranks,
                   gpus ? *gpus : ranks.host_collectives()},
                  *run.layout, run.initial);
  if (run.old) {
    prepare_together(ranks, [&] { trainer.resume(); });
    require_same(ranks, "saved state", std::to_string(trainer.progress().iteration));
  }
  announce(run, trainer, ranks);
  if (trainer.over()) {
    say_over(run.config, folder, trainer.progress());
    say_where(folder, trainer, run.training);
    return static_cast<int>(ExitCode::done);
  }
  spdlog::info("{} in {}", run.old ? "Going on" : "Training", folder.path().string());

  const TrainingEnd end = trainer.run(*early);
  if (end == TrainingEnd::interrupted) {
    spdlog::info(
        "Stopped by a signal after {} steps; everything is saved. Go on with: brightnet train --resume {}",
        trainer.progress().iteration, folder.path().string());
    return static_cast<int>(ExitCode::interrupted);
  }
  if (end == TrainingEnd::no_better) {
    spdlog::info("No better score in {} evaluations: training ends early.", run.config.train.patience);
  }
  say_where(folder, trainer, run.training);
  return static_cast<int>(ExitCode::done);
}

/// Finds what is wrong with the configuration before there are ranks that would all say it.
void check_before_launch(const TrainArguments& arguments) {
  const RunConfig config = arguments.resuming ? open_old_run(arguments).config : wanted_config(arguments);
  check_batch(config.train, arguments.common.ranks, arguments.resuming);
}

int train(const TrainArguments& arguments) {
  if (arguments.common.must_launch()) {
    check_before_launch(arguments);
    return arguments.common.launch();
  }
  const auto ranks = open_communicator();
  return run_as_rank(*ranks, [&] { return train_on_rank(arguments, *ranks); });
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("train", "train a model as a YAML describes it");
  const auto arguments = std::make_shared<TrainArguments>();
  command->add_option("config", arguments->common.config, "the run's YAML, or darknet's .cfg")
      ->type_name("CONFIG.yaml|X.cfg");
  command
      ->add_option("--weights", arguments->weights,
                   "safetensors, or darknet's .weights or .conv.N, to start from")
      ->type_name("FILE");
  command->add_flag(
      "--weights-partial", arguments->weights_partial,
      "of a .weights file that does not fit the model, take the layers before it stops fitting");
  command
      ->add_option("--weights-cfg", arguments->weights_cfg,
                   "the .cfg that a .weights file is of, when the model is another")
      ->type_name("F.cfg");
  auto* resume =
      command->add_option("--resume", arguments->resume,
                          "go on with a run; without a folder, with the newest of this configuration");
  resume->type_name("[RUN]")->expected(0, 1);
  command->add_option("--out", arguments->out, "the run's folder; runs/NAME if not given")->type_name("RUN");
  command->add_flag("--no-graph", arguments->no_graph,
                    "queue each operation by itself on a GPU (train.graph=false)");
  arguments->common.add_data(*command);
  arguments->common.add_ranks(*command);
  arguments->common.add_device(*command);
  arguments->common.add_precision(*command);
  arguments->common.add_assignments(*command);
  command->callback([=, &action] {
    arguments->resuming = resume->count() > 0;
    action = [arguments] { return train(*arguments); };
  });
}

}  // namespace brightnet::cli
