// brightnet train: a new run, or the rest of an old one.
#include <memory>

#include "core/files.h"
#include "core/log.h"
#include "core/threads.h"
#include "train/automatic_anchors.h"
#include "train/cli/commands.h"
#include "train/cli/metrics_table.h"
#include "train/device.h"
#include "train/formats/darknet_import.h"
#include "train/trainer.h"

namespace brightnet::cli {
namespace {

namespace fs = std::filesystem;

struct TrainArguments {
  CommonOptions common;
  std::string weights, out, resume;
  bool resuming = false;
};

/// What may change between the parts of a run without making it another run.
bool may_change(const std::string& key) {
  for (const char* free : {"name", "loader.", "evaluate.", "data.root", "train.log_every", "train.save_every",
                           "train.patience", "train.memory_fraction"}) {
    if (key.rfind(free, 0) == 0) return true;
  }
  return false;
}

void refuse_changes(const RunConfig& before, const RunConfig& after) {
  for (const auto& [key, old_value, new_value] : compare(before, after)) {
    if (may_change(key)) continue;
    throw InputError("the run began with " + key + " = " + old_value + " and cannot go on with " + new_value,
                     "--resume",
                     "Leave it as it was, or start a new run with --weights weights/last.safetensors");
  }
}

struct OpenRun {
  RunConfig config;
  RunFolder folder;
};

/// The run to go on with: the folder named, else the newest run of this configuration.
OpenRun open_old_run(const TrainArguments& arguments) {
  const auto assignments = arguments.common.all_assignments();
  fs::path wanted = arguments.resume;
  if (wanted.empty() && !arguments.out.empty()) wanted = arguments.out;
  const bool named = !arguments.resume.empty();
  if (wanted.empty()) {
    if (arguments.common.config.empty()) {
      throw InputError("there is nothing to resume", "--resume",
                       "Name a run's folder (--resume runs/NAME) or the configuration it began with.");
    }
    wanted = fs::path("runs") / load_run_config(arguments.common.config, assignments).name;
  }
  RunFolder folder = named ? RunFolder::open(wanted) : RunFolder::latest(wanted);
  const RunConfig before = load_run_config(folder.config());
  RunConfig config = load_run_config(folder.config(), assignments);
  refuse_changes(before, config);
  return {std::move(config), std::move(folder)};
}

/// The run's folder gets everything that going on needs: it refers to nothing outside but the images.
void write_description(const RunFolder& folder, const RunConfig& config, const Model& model) {
  RunConfig own = config;
  own.model = folder.model().filename().string();
  own.train.weights.clear();
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

std::vector<float> starting_parameters(const RunConfig& config, const Model& model,
                                       const ParameterLayout& layout) {
  std::vector<float> values = initial_parameters(model, layout, config.train.seed);
  if (config.train.weights.empty()) return values;
  const MatchReport report = load_matching_weights(config.train.weights, layout, values);
  spdlog::info("Weights of {}: {} of {} parameters taken.", config.train.weights, report.taken.size(),
               layout.entries().size());
  for (const auto& name : report.left) spdlog::info("  starts fresh: {}", name);
  for (const auto& name : report.ignored) spdlog::info("  not used: {}", name);
  return values;
}

void choose_micro_batch(RunConfig& config, const Model& model, Backend& backend) {
  if (config.train.micro_batch > 0) return;
  const double budget = static_cast<double>(free_host_memory()) * config.train.memory_fraction;
  config.train.micro_batch =
      brightnet::choose_micro_batch(config, model, backend, static_cast<size_t>(budget));
}

void announce(const RunConfig& config, const Model& model, const ParameterLayout& layout,
              const Dataset& train, const Dataset& val, const Trainer& trainer, const Backend& backend) {
  spdlog::info("{}: {:.2f} M parameters, {} classes, input {}x{}, {} on {} with {} threads", model.name,
               static_cast<double>(layout.trainable_parameters()) / 1e6, model.classes, config.train.size,
               config.train.size, config.train.precision, backend.name(), compute_threads());
  spdlog::info("{} training and {} validation images; batch {} = {} x {}; {} of memory", train.images.size(),
               val.images.size(), config.train.batch, config.train.batch / config.train.micro_batch,
               config.train.micro_batch, format_bytes(static_cast<double>(trainer.memory().peak())));
}

void say_where(const RunFolder& folder, const Trainer& trainer, const Dataset& dataset) {
  if (trainer.best_metrics()) spdlog::info("{}", metrics_table(*trainer.best_metrics()));
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

int train(const TrainArguments& arguments) {
  std::optional<OpenRun> old;
  RunConfig config;
  if (arguments.resuming) {
    old = open_old_run(arguments);
    config = old->config;
  } else {
    auto assignments = arguments.common.all_assignments();
    if (!arguments.weights.empty()) assignments.push_back("train.weights=" + quoted(arguments.weights));
    if (arguments.common.config.empty()) {
      throw InputError("no configuration was given", "", "Write brightnet train CONFIG.yaml");
    }
    config = load_run_config(arguments.common.config, assignments);
  }
  const auto backend = open_device(arguments.common.device, config.precision());
  const Dataset training = read_split(config, Split::train);
  const Dataset validation = read_split(config, Split::val);
  resolve_anchors(config, training);
  const Model model = load_model(config, static_cast<int>(training.classes.size()));
  const ParameterLayout layout(model);
  if (!old) say_what_was_imported(config, model.classes);
  choose_micro_batch(config, model, *backend);
  const std::vector<float> initial = starting_parameters(config, model, layout);

  const RunFolder folder = old ? old->folder
                               : RunFolder::create(arguments.out.empty() ? fs::path("runs") / config.name
                                                                         : fs::path(arguments.out));
  log_to_file(folder.log());
  if (!old) write_description(folder, config, model);
  const Interrupt interrupt;
  Trainer trainer({config, model, training, validation, *backend, folder}, layout, initial);
  if (old) trainer.resume();
  announce(config, model, layout, training, validation, trainer, *backend);
  spdlog::info("{} in {}", old ? "Going on" : "Training", folder.path().string());

  const TrainingEnd end = trainer.run(interrupt);
  if (end == TrainingEnd::interrupted) {
    spdlog::info(
        "Stopped by a signal after {} steps; everything is saved. Go on with: brightnet train --resume {}",
        trainer.progress().iteration, folder.path().string());
    return static_cast<int>(ExitCode::interrupted);
  }
  if (end == TrainingEnd::no_better) {
    spdlog::info("No better score in {} evaluations: training ends early.", config.train.patience);
  }
  say_where(folder, trainer, training);
  return static_cast<int>(ExitCode::done);
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("train", "train a model as a YAML describes it");
  const auto arguments = std::make_shared<TrainArguments>();
  command->add_option("config", arguments->common.config, "the run's YAML, or darknet's .cfg")
      ->type_name("CONFIG.yaml|X.cfg");
  command->add_option("--weights", arguments->weights, "safetensors to start from")->type_name("FILE");
  auto* resume =
      command->add_option("--resume", arguments->resume,
                          "go on with a run; without a folder, with the newest of this configuration");
  resume->type_name("[RUN]")->expected(0, 1);
  command->add_option("--out", arguments->out, "the run's folder; runs/NAME if not given")->type_name("RUN");
  arguments->common.add_data(*command);
  arguments->common.add_device(*command);
  arguments->common.add_precision(*command);
  arguments->common.add_assignments(*command);
  command->callback([=, &action] {
    arguments->resuming = resume->count() > 0;
    action = [arguments] { return train(*arguments); };
  });
}

}  // namespace brightnet::cli
