// brightnet train: starts a run or resumes one.
#include "brightnet/train.h"

#include <csignal>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/stop_signals.h"
#include "core/log.h"

namespace brightnet::cli {
namespace {

struct TrainArguments {
  TrainingOptions options;
  std::string resume, out;
  int ranks = 0;
  int epochs = 0;  ///< 0: as the configuration says
  TrainingInput input;
};

TrainingOptions options_of(const TrainArguments& arguments) {
  TrainingOptions options = arguments.options;
  options.folder = options.resume ? arguments.resume : arguments.out;
  options.out = arguments.out;
  if (arguments.epochs > 0) {
    options.run.settings.push_back(fmt::format("--epochs:train.epochs={}", arguments.epochs));
    options.run.settings.emplace_back(
        "--epochs:train.iterations=0");  // the length of a .cfg, which would win
  }
  set_input(arguments.input, options.run);
  return options;
}

int train_on_rank(const TrainingOptions& options, Ranks& ranks) {
  // A launcher forwards signals: they must not kill a rank at any time.
  std::optional<StopSignals> signals;
  if (!ranks.alone()) signals.emplace();
  const auto can_be_stopped = [&] {
    if (!signals) signals.emplace();
    return signals->token();
  };
  const TrainingResult run = brightnet::train(options, ranks, {.can_be_stopped = can_be_stopped});
  if (run.outcome != TrainingOutcome::stopped) return static_cast<int>(ExitCode::done);
  log::info(
      "Stopped by a signal after {} steps; everything is saved. Resume with: brightnet train --resume {}",
      run.iterations, run.folder.string());
  return static_cast<int>(ExitCode::interrupted);
}

int train(const TrainArguments& arguments) {
  // `| head` must not end a run, and before it begins StopSignals is not there yet.
  std::signal(SIGPIPE, SIG_IGN);
  keep_messages();  // for train.log: much is said before the run has a folder
  const TrainingOptions options = options_of(arguments);
  if (must_launch(arguments.ranks)) {
    check_training(options, arguments.ranks);  // so that an error is reported once
    return launch(arguments.ranks);
  }
  Ranks ranks(arguments.ranks);
  return ranks.run([&] { return train_on_rank(options, ranks); });
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("train", "train a model on a data set");
  const auto arguments = std::make_shared<TrainArguments>();
  TrainingOptions& options = arguments->options;
  take_config(*command, options.run);
  take_model(*command, options.run);
  take_data(*command, options.run.data);
  command->add_option("--epochs", arguments->epochs, "passes over the training images (train.epochs)")
      ->type_name("N")
      ->check(at_least(1));
  take_input(*command, arguments->input);
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
  take_device(*command, options.device);
  take_precision(*command, options.run.precision);
  take_settings(*command, options.run.settings);
  command->callback([=, &action] {
    arguments->options.resume = resume->count() > 0;
    action = [arguments] { return train(*arguments); };
  });
}

}  // namespace brightnet::cli
