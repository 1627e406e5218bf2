// brightnet tune: searches hyper-parameters by trials, or finds a learning rate.
#include "brightnet/tune.h"

#include <iostream>
#include <memory>
#include <optional>

#include "brightnet/ranks.h"
#include "cli/commands.h"
#include "cli/stop_signals.h"
#include "core/child_process.h"

namespace brightnet::cli {
namespace {

struct TuneArguments {
  TuneOptions options;
  SearchOptions search;
  std::string json;
  bool list_keys = false, find_rate = false;
  int steps = 150;
};

int tune(TuneArguments arguments) {
  if (arguments.list_keys) {
    std::cout << list_searched_keys();
    return static_cast<int>(ExitCode::done);
  }
  if (is_launched_rank()) {
    throw InputError("a search starts its trials itself, and mpirun or srun has started several of it", "",
                     "Start it alone; --jobs N runs N trials side by side.");
  }
  check_answer(arguments.json, arguments.find_rate ? "suggested_rate" : "best");
  TuneOptions& options = arguments.options;
  std::optional<StopSignals> signals;
  options.can_be_stopped = [&] { return signals.emplace().token(); };
  options.found = [&](const Answer& answer) { print_answer(arguments.json, answer); };
  arguments.search.program = this_program();
  const bool done =
      arguments.find_rate ? find_rate(options, arguments.steps) : search_values(options, arguments.search);
  return static_cast<int>(done ? ExitCode::done : ExitCode::interrupted);
}

void add_search_options(CLI::App& command, TuneArguments& arguments) {
  SearchOptions& search = arguments.search;
  auto* resume = command.add_option("--resume", search.resumed, "resume the search in this folder");
  resume->type_name("OUT");
  command
      .add_option("--trials", search.trials, "number of trials, the configuration included; 30 if not given")
      ->type_name("N")
      ->check(at_least(1));
  auto* minutes = command.add_option("--minutes", search.minutes, "length of each trial (train.minutes)");
  minutes->type_name("M")->check(above_zero())->excludes(resume);
  command.add_option("--epochs", search.epochs, "length of each trial (train.epochs)")
      ->type_name("E")
      ->check(at_least(1))
      ->excludes(minutes)
      ->excludes(resume);
  command.add_option("--keys", search.keys, "what to search, separated by commas; --list-keys lists all")
      ->type_name("KEY,...")
      ->delimiter(',')
      ->excludes(resume);
  command.add_option("--seed", search.seed, "random seed of the search")->type_name("N")->excludes(resume);
  command
      .add_option("--jobs", search.jobs,
                  "trials side by side: each on a GPU of its own, or with its share of the threads")
      ->type_name("J")
      ->check(at_least(1));
  command.add_flag("--list-keys", arguments.list_keys, "list the values that can be searched");
}

/// One of the two ways does not take the other's options, or it would leave them out without a word.
void separate(CLI::App& command, CLI::Option& find_rate) {
  for (const char* option : {"--resume", "--trials", "--minutes", "--epochs", "--keys", "--seed", "--jobs"})
    find_rate.excludes(command.get_option(option));
  command.get_option("--steps")->needs(&find_rate);
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("tune", "search for better hyper-parameters, or for a learning rate");
  const auto arguments = std::make_shared<TuneArguments>();
  TuneOptions& options = arguments->options;
  take_config(*command, options.run);
  take_model(*command, options.run);
  take_data(*command, options.run.data);
  take_input(*command, options.run);
  add_search_options(*command, *arguments);
  auto* find_rate = command->add_flag("--find-rate", arguments->find_rate,
                                      "instead, find a learning rate by a few steps at growing rates");
  command->add_option("--steps", arguments->steps, "steps of --find-rate; 150 if not given")
      ->type_name("N")
      ->check(within(20, 10000));
  separate(*command, *find_rate);
  command
      ->add_option("--out", options.folder,
                   "folder of the results; runs/NAME-tune or runs/NAME-rate if not given")
      ->type_name("OUT");
  take_json(*command, arguments->json, "the results as JSON");
  command->add_option("--weights", options.weights, "weights that every trial starts from")
      ->type_name("FILE");
  take_device(*command, options.device);
  take_precision(*command, options.run.precision);
  take_settings(*command, options.run.settings);
  command->callback([=, &action] { action = [arguments] { return tune(*arguments); }; });
}

}  // namespace brightnet::cli
