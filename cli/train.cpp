// brightnet train: starts a run or resumes one.
#include <csignal>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/stop_signals.h"
#include "core/log.h"
#include "train/distributed/agreement.h"
#include "train/setup/preparation.h"
#include "train/setup/training_run.h"

namespace brightnet::cli {
namespace {

struct TrainArguments {
  CommonOptions common;
  RunRequest request;
  int epochs = 0, batch = 0;  ///< 0: as the configuration says
  std::string size;           ///< "": likewise
};

RunRequest request_of(const TrainArguments& arguments) {
  RunRequest request = arguments.request;
  request.config = arguments.common.config;
  request.overrides = arguments.common.overrides();
  auto& assignments = request.overrides.assignments;
  const auto set = [&](const char* option, const std::string& assignment) {
    assignments.push_back(fmt::format("{}:train.{}", option, assignment));
  };
  if (arguments.epochs > 0) {
    set("--epochs", fmt::format("epochs={}", arguments.epochs));
    set("--epochs", "iterations=0");  // the length of a .cfg, which would win
  }
  if (!arguments.size.empty()) {
    set("--size", "size=" + arguments.size);
    // In the place of the sizes in the file, but not of those of a --set.
    assignments.insert(assignments.begin(), "--size:train.sizes=[]");
  }
  if (arguments.batch > 0) set("--batch", fmt::format("batch={}", arguments.batch));
  return request;
}

int train_on_rank(const TrainArguments& arguments, Communicator& ranks) {
  // A launcher forwards signals: they must not kill a rank at any time.
  std::optional<StopSignals> signals;
  if (!ranks.alone()) signals.emplace();
  const RankDevice device = common_device(ranks, [&] {
    arguments.common.check_ranks(ranks);
    return arguments.common.device_of(ranks);
  });
  RunRequest request;
  prepare_together(ranks, [&] { request = request_of(arguments); });
  TrainingHost host;
  host.folder_found = [&](const auto&) {
    if (ranks.leads()) arguments.common.say_data();
  };
  host.can_be_stopped = [&] {
    if (!signals) signals.emplace();
    return signals->token();
  };
  const TrainedRun run = run_training(request, device, ranks, host);
  if (run.end != TrainingEnd::interrupted) return static_cast<int>(ExitCode::done);
  log::info(
      "Stopped by a signal after {} steps; everything is saved. Resume with: brightnet train --resume {}",
      run.progress.iteration, run.folder.string());
  return static_cast<int>(ExitCode::interrupted);
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
  // `| head` must not end a run, and before it begins StopSignals is not there yet.
  std::signal(SIGPIPE, SIG_IGN);
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
