// brightnet train: starts a run or resumes one.
#include "brightnet/train.h"

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/rank_launch.h"
#include "cli/restarts.h"
#include "cli/stop_signals.h"
#include "cli/supervised_run.h"
#include "core/error.h"
#include "core/log.h"

namespace brightnet::cli {
namespace {

struct TrainArguments {
  TrainingOptions options;
  std::string resume, out;
  int ranks = 0;
  int restarts = 0;        ///< times to start again; 0: as the configuration says
  std::string supervised;  ///< the file that a supervising process reads; empty: there is none
};

TrainingOptions options_of(const TrainArguments& arguments) {
  TrainingOptions options = arguments.options;
  options.folder = options.resume ? arguments.resume : arguments.out;
  if (options.resume) options.out = arguments.out;
  if (arguments.restarts > 0)
    options.run.settings.push_back("--restarts:train.restarts=" + std::to_string(arguments.restarts));
  return options;
}

/// Whether the configuration may ask for restarts, by themselves or in a mapping ("train={restarts: 2}"); else the data need
/// not be looked at before the run itself does.
bool may_restart(const TrainArguments& arguments, const TrainingOptions& options) {
  const auto& settings = options.run.settings;
  return arguments.ranks > 1 || options.resume || !options.run.config.empty() ||
         std::any_of(settings.begin(), settings.end(), [](const std::string& assignment) {
           return assignment.find("restarts") != std::string::npos;
         });
}

int train_on_rank(const TrainArguments& arguments, const TrainingOptions& options, Ranks& ranks) {
  if (arguments.restarts > 0 && arguments.supervised.empty() && !ranks.alone()) {
    throw InputError(
        "these ranks were started by a launcher, which alone can start them again", "--restarts",
        "Leave it out; docs/distributed.md says how Slurm and Kubernetes restart a run. Or let brightnet start "
        "the ranks of one machine: --ranks N --restarts R.");
  }
  // A launcher forwards signals: they must not kill a rank at any time.
  std::optional<StopSignals> signals;
  if (!ranks.alone()) signals.emplace();
  const auto can_be_stopped = [&] {
    if (!signals) signals.emplace();
    return signals->token();
  };
  std::optional<ProgressReport> progress;
  if (!arguments.supervised.empty() && ranks.leads()) progress.emplace(arguments.supervised);
  const TrainingResult run = brightnet::train(
      options, ranks, {.can_be_stopped = can_be_stopped, .observer = progress ? &*progress : nullptr});
  if (run.outcome != TrainingOutcome::stopped) return static_cast<int>(ExitCode::done);
  log::info("Stopped by a signal after {} steps; everything is saved. Resume with: {}", run.iterations,
            resume_command(run.folder, launched_ranks()));
  return static_cast<int>(ExitCode::interrupted);
}

int train(const TrainArguments& arguments) {
  // `| head` must not end a run, and before it begins StopSignals is not there yet.
  std::signal(SIGPIPE, SIG_IGN);
  keep_messages();  // for train.log: much is said before the run has a folder
  const TrainingOptions options = options_of(arguments);
  if (arguments.supervised.empty() && !is_launched_rank() && may_restart(arguments, options)) {
    const PlannedTraining plan =
        check_training(options, std::max(arguments.ranks, 1));  // an error is reported once
    if (plan.restarts > 0) return run_supervised(options, std::max(arguments.ranks, 1), plan.restarts);
    if (arguments.ranks > 1) return launch(arguments.ranks);
  }
  Ranks ranks(arguments.ranks);
  return ranks.run([&] { return train_on_rank(arguments, options, ranks); });
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("train", "train a model on a data set");
  const auto arguments = std::make_shared<TrainArguments>();
  TrainingOptions& options = arguments->options;
  take_config(*command, options.run);
  take_model(*command, options.run);
  take_data(*command, options.run.data);
  command->add_option("--epochs", options.epochs, "passes over the training images (train.epochs)")
      ->type_name("N")
      ->check(at_least(1));
  take_input(*command, options.run);
  command
      ->add_option(
          "--weights", options.weights,
          "pretrained weights: the .safetensors of a run, darknet's .weights or .conv.N, or a name that "
          "`brightnet download` lists")
      ->type_name("FILE|NAME");
  command->add_flag("--weights-partial", options.weights_partial,
                    "load the leading layers of a .weights file that matches the model only up to a point");
  command
      ->add_option("--weights-cfg", options.weights_cfg,
                   "the .cfg of a .weights file that belongs to another model")
      ->type_name("F.cfg");
  auto* resume = command->add_option(
      "--resume", arguments->resume,
      "resume a run; without a folder, the run of this configuration that was saved last");
  resume->type_name("[RUN]")->expected(0, 1);
  command->add_option("--out", arguments->out, "the run's folder, numbered if it exists (default: runs/NAME)")
      ->type_name("RUN");
  command->add_flag("--no-graph", options.no_graph, "do not use CUDA graphs on a GPU (train.graph=false)");
  take_fold(*command, options.run);
  take_ranks(*command, arguments->ranks);
  command
      ->add_option(
          "--restarts", arguments->restarts,
          "start the run again from its last saved state after its processes died, this many times at most "
          "(train.restarts)")
      ->type_name("N")
      ->check(at_least(1));
  command->add_option("--supervised", arguments->supervised)->group("");
  take_device(*command, options.device);
  take_precision(*command, options.run.precision);
  take_settings(*command, options.run.settings);
  command->callback([=, &action] {
    arguments->options.resume = resume->count() > 0;
    action = [arguments] { return train(*arguments); };
  });
}

}  // namespace brightnet::cli
