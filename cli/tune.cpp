// brightnet tune: searches hyper-parameters by trials, or finds a learning rate.
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>

#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/stop_signals.h"
#include "core/files.h"
#include "core/log.h"
#include "core/progress_line.h"
#include "core/text.h"
#include "core/threads.h"
#include "data/drawing/draw.h"
#include "kernels/device/device.h"
#include "train/distributed/child_process.h"
#include "train/distributed/launched_rank.h"
#include "train/tune/first_trial.h"
#include "train/tune/rate_finder.h"
#include "train/tune/search.h"
#include "train/tune/search_report.h"

namespace brightnet::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t table_rows = 20;
constexpr int rate_rows = 15;

struct TuneArguments {
  CommonOptions common;
  SearchPlan plan;
  std::string weights, out, resume, json;
  int trials = 0;  ///< 0: not given
  int jobs = 1;
  bool list_keys = false, find_rate = false;
  RateSweep sweep;
};

Overrides overrides_of(const TuneArguments& arguments) {
  Overrides overrides = arguments.common.overrides();
  if (!arguments.weights.empty())
    overrides.assignments.push_back("--weights:train.weights=" + yaml_quoted(arguments.weights));
  return overrides;
}

/// "--precision:train.precision=x" without the name of the option that it stands for.
std::string without_option(const std::string& assignment) {
  return assignment.starts_with("--") ? assignment.substr(assignment.find(':') + 1) : assignment;
}

/// What --data names, wherever the search is resumed: a file or folder, or several with commas between them.
std::string absolute_data(const std::string& data) {
  std::error_code failed;
  if (fs::exists(data, failed)) return fs::absolute(data).lexically_normal().string();
  std::vector<std::string> places;
  std::istringstream parts(data);
  for (std::string part; std::getline(parts, part, ',');)
    places.push_back(fs::exists(part, failed) ? fs::absolute(part).lexically_normal().string() : part);
  return fmt::format("{}", fmt::join(places, ","));
}

SearchPlan resumed_plan(const TuneArguments& arguments) {
  SearchPlan plan = read_plan(arguments.resume);
  if (arguments.trials > 0) plan.trials = arguments.trials;
  CommonOptions common;
  common.needs_validation = true;
  common.config = plan.config;
  common.data = plan.data;
  common.assignments = plan.overrides.assignments;
  plan.overrides = common.overrides();
  return plan;
}

SearchPlan plan_of(const TuneArguments& arguments) {
  if (!arguments.resume.empty()) {
    if (!arguments.common.config.empty() || overrides_of(arguments)) {
      throw InputError("a search that is resumed keeps its own configuration", "--resume",
                       "Leave out the CONFIG and --set, or start a new search without --resume.");
    }
    return resumed_plan(arguments);
  }
  SearchPlan plan = arguments.plan;
  if (!arguments.common.config.empty())
    plan.config = fs::absolute(arguments.common.config).lexically_normal().string();
  if (!arguments.common.data.empty()) plan.data = absolute_data(arguments.common.data);
  plan.overrides = overrides_of(arguments);
  for (std::string& assignment : plan.overrides.assignments) assignment = without_option(assignment);
  if (arguments.trials > 0) plan.trials = arguments.trials;
  return plan;
}

void check_keys(const std::vector<TunedKey>& keys, const RunConfig& config) {
  const std::string micro_batch = YAML::Load(print_config(config, false))["train"]["micro_batch"].Scalar();
  for (const TunedKey& key : keys) {
    if (key.name == "train.batch" && micro_batch != "auto") {
      throw InputError("train.batch can be searched only where train.micro_batch is auto",
                       config.where("train.micro_batch"), "Add --set train.micro_batch=auto");
    }
  }
}

/// The device of each of the trials that run side by side; on the CPU they share this process's threads.
std::vector<std::string> share_machine(const std::string& device, int jobs) {
  const bool asks = jobs > 1 && parse_device(device).kind != DeviceKind::cpu;
  const auto devices = devices_of_jobs(device, jobs, asks ? cuda::inspect(0) : cuda::Installation());
  if (jobs == 1 || devices[0] != devices[1]) return devices;
  const int threads = compute_threads();
  if (threads < jobs) {
    throw InputError(fmt::format("{} threads cannot be shared by {} trials", threads, jobs), "--jobs",
                     fmt::format("Use --jobs {} at most.", threads));
  }
  ::setenv("OMP_NUM_THREADS", std::to_string(threads / jobs).c_str(), 1);
  return devices;
}

std::string length_of(const SearchPlan& plan) {
  if (plan.minutes > 0) return fmt::format("{:g} minutes each", plan.minutes);
  if (plan.epochs > 0) return counted(static_cast<uint64_t>(plan.epochs), "epoch each", "epochs each");
  return "as long as the configuration says";
}

void say_result(const SearchSetup& setup, const Search& search, const SearchFolder& folder) {
  const Trial* best = best_of(search.trials());
  if (!best) {
    log::warn("No trial has found anything: give the trials more --minutes or --epochs.");
    return;
  }
  if (best->number == 0) {
    log::info("No trial was better than the configuration itself, whose {} is {:.4f}.",
              enum_name(setup.best_by), best->score);
  } else {
    log::info("Best: trial {}, {} {:.4f}, with {}", best->number, enum_name(setup.best_by), best->score,
              fmt::join(differing_values(setup.keys, setup.configured, best->values), " "));
  }
  log::info("All trials: {}, {}", folder.table().string(), folder.plot().string());
  log::info("Train with the best values: brightnet train {}", folder.best_config().string());
}

/// What is searched and where it starts, the values of the configuration's own run.
std::string start_of(const SearchSetup& setup) {
  std::vector<std::string> values;
  for (size_t i = 0; i < setup.keys.size(); ++i)
    values.push_back(fmt::format("{}={}", setup.keys[i].name, tuned_text(setup.configured[i])));
  return fmt::format("{}", fmt::join(values, " "));
}

/// What follows from the first trial's run, whose memory is free again afterwards.
void prepare_setup(SearchSetup& setup, const RunConfig& config, int jobs) {
  const Preparation first = prepare_first_trial(setup.plan, setup.devices[0], jobs);
  refuse_without_effect(first.model, setup.keys);
  setup.configured = configured_values(first.config, first.model, setup.keys);
  setup.share = share_of_trial(config, first, jobs);
}

int search_values(const TuneArguments& arguments) {
  arguments.common.say_data();
  SearchSetup setup;
  setup.plan = plan_of(arguments);
  check_answer(arguments.json, "best");
  setup.keys = choose_keys(setup.plan.keys);
  setup.plan.keys.clear();
  for (const TunedKey& key : setup.keys) setup.plan.keys.emplace_back(key.name);
  const RunConfig config = load_run_config(setup.plan.config, setup.plan.overrides);
  check_keys(setup.keys, config);
  setup.best_by = config.evaluate.best_by;
  setup.program = this_program();
  setup.devices = share_machine(arguments.common.device, arguments.jobs);
  const Model model = load_model(config, static_cast<int>(class_names(config).size()));
  prepare_setup(setup, config, arguments.jobs);

  const std::string out = !arguments.resume.empty() ? arguments.resume
                          : !arguments.out.empty()  ? arguments.out
                                                    : (fs::path("runs") / (config.name + "-tune")).string();
  const SearchFolder folder(
      out, setup.plan, fmt::format("{}{}{}", print_config(config, false), model.yaml(), start_of(setup)));
  log_to_file(folder.path() / "tune.log");
  Search search(setup, folder);
  log::info("Searching in {}: {} trials, {}; {} have results. From {}", folder.path().string(),
            setup.plan.trials, length_of(setup.plan), search.trials().size(), start_of(setup));
  const auto report = [&] {
    if (const Trial* best = best_of(search.trials()))
      write_atomically(folder.best_config(), best_config(setup, config, *best));
    write_image(folder.plot(), plot_search(setup, search.trials()));
  };
  const StopSignals signals;
  const SearchEnd end = search.run(signals.token(), [&](const Trial& trial) {
    log::info("{}", trial_line(setup, search.trials(), trial, search.seconds_left()));
    report();
  });
  if (end == SearchEnd::interrupted) {
    log::info("Stopped by a signal after {} of {} trials. Resume with: brightnet tune --resume {}",
              search.trials().size(), setup.plan.trials, folder.path().string());
    return static_cast<int>(ExitCode::interrupted);
  }
  report();
  if (arguments.json != "-") std::cout << trials_table(setup, search.trials(), table_rows) << std::flush;
  say_result(setup, search, folder);
  if (!arguments.json.empty())
    write_answer(arguments.json, to_text(to_json(setup, search.trials(), folder.best_config().string())));
  return static_cast<int>(ExitCode::done);
}

Json to_json(const std::vector<RatePoint>& points, const std::optional<RateSuggestion>& suggestion) {
  Json list = Json::array();
  for (const RatePoint& point : points) {
    const auto finite = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
    list.push_back(
        {{"rate", point.rate}, {"loss", finite(point.loss)}, {"smoothed", finite(point.smoothed)}});
  }
  Json json;
  json["suggested_rate"] = suggestion ? Json(suggestion->rate) : Json();
  json["minimum_at"] = suggestion ? Json(suggestion->minimum) : Json();
  json["points"] = list;
  return json;
}

int find_rate(const TuneArguments& arguments) {
  check_answer(arguments.json, "suggested_rate");
  arguments.common.say_data();
  RunRequest request;
  request.config = arguments.common.config;
  request.overrides = overrides_of(arguments);
  Preparation run = prepare_sweep(request, arguments.common.device);
  const int batch = run.config.train.batch;
  log::info("{} steps of {} images while the learning rate grows from {:g} to {:g}", arguments.sweep.steps,
            batch, arguments.sweep.low, arguments.sweep.high);
  const StopSignals signals;
  const auto points = sweep_rates(run, arguments.sweep, signals.token());
  if (signals.received()) {
    log::info("Stopped by a signal; nothing was written.");
    return static_cast<int>(ExitCode::interrupted);
  }
  const auto suggestion = suggest_rate(points);
  const fs::path out =
      arguments.out.empty() ? fs::path("runs") / (run.config.name + "-rate") : fs::path(arguments.out);
  std::error_code error;
  fs::create_directories(out, error);
  write_atomically(out / "rate.csv", rates_csv(points));
  write_image(out / "rate.png", plot_rates(points, suggestion));
  if (arguments.json != "-") std::cout << rates_table(points, rate_rows) << std::flush;
  if (suggestion) {
    log::info(
        "Suggested: optimizer.rate {:g}, a third of the rate where the smoothed loss is least ({:.2g}). The "
        "configuration has {:g}. To train with it, add --set optimizer.rate={:g} to brightnet train.",
        suggestion->rate, suggestion->minimum, run.config.optimizer.rate, suggestion->rate);
  } else {
    log::warn(
        "The loss did not fall at any rate: check the labels (brightnet data check), or take more --steps.");
  }
  log::info("The curve: {}, {}", (out / "rate.png").string(), (out / "rate.csv").string());
  if (!arguments.json.empty()) write_answer(arguments.json, to_text(to_json(points, suggestion)));
  return static_cast<int>(ExitCode::done);
}

int list_keys() {
  std::cout << fmt::format("{:<26} {:>10} {:>10}  {}\n", "value", "lowest", "highest",
                           "searched without --keys");
  for (const TunedKey& key : tunable_keys())
    std::cout << fmt::format("{:<26} {:>10g} {:>10g}  {}\n", key.name, key.low, key.high,
                             key.usual ? "yes" : "-");
  return static_cast<int>(ExitCode::done);
}

int tune(const TuneArguments& arguments) {
  if (arguments.list_keys) return list_keys();
  if (launched_rank().is_rank) {
    throw InputError("a search starts its trials itself, and mpirun or srun has started several of it", "",
                     "Start it alone; --jobs N runs N trials side by side.");
  }
  return arguments.find_rate ? find_rate(arguments) : search_values(arguments);
}

void add_search_options(CLI::App& command, TuneArguments& arguments) {
  SearchPlan& plan = arguments.plan;
  auto* resume = command.add_option("--resume", arguments.resume, "resume the search in this folder");
  resume->type_name("OUT");
  command
      .add_option("--trials", arguments.trials,
                  "number of trials, the configuration included; 30 if not given")
      ->type_name("N")
      ->check(at_least(1));
  auto* minutes = command.add_option("--minutes", plan.minutes, "length of each trial (train.minutes)");
  minutes->type_name("M")->check(above_zero())->excludes(resume);
  command.add_option("--epochs", plan.epochs, "length of each trial (train.epochs)")
      ->type_name("E")
      ->check(at_least(1))
      ->excludes(minutes)
      ->excludes(resume);
  command.add_option("--keys", plan.keys, "what to search, separated by commas; --list-keys lists all")
      ->type_name("KEY,...")
      ->delimiter(',')
      ->excludes(resume);
  command.add_option("--seed", plan.seed, "random seed of the search")->type_name("N")->excludes(resume);
  command
      .add_option("--jobs", arguments.jobs,
                  "trials side by side: each on a GPU of its own, or with its share of the threads")
      ->type_name("J")
      ->check(at_least(1));
  command.add_flag("--list-keys", arguments.list_keys, "list the values that can be searched");
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("tune", "search for better hyper-parameters, or for a learning rate");
  const auto arguments = std::make_shared<TuneArguments>();
  arguments->common.needs_validation = true;
  arguments->common.add_config(*command);
  arguments->common.add_model(*command);
  arguments->common.add_data(*command);
  add_search_options(*command, *arguments);
  command->add_flag("--find-rate", arguments->find_rate,
                    "instead, find a learning rate by a few steps at growing rates");
  command->add_option("--steps", arguments->sweep.steps, "steps of --find-rate; 150 if not given")
      ->type_name("N")
      ->check(within(20, 10000));
  command
      ->add_option("--out", arguments->out,
                   "folder of the results; runs/NAME-tune or runs/NAME-rate if not given")
      ->type_name("OUT");
  command
      ->add_option("--json", arguments->json, "write the results as JSON to this file; - for standard output")
      ->type_name("FILE");
  command->add_option("--weights", arguments->weights, "weights that every trial starts from")
      ->type_name("FILE");
  arguments->common.add_device(*command);
  arguments->common.add_precision(*command);
  arguments->common.add_assignments(*command);
  command->callback([=, &action] { action = [arguments] { return tune(*arguments); }; });
}

}  // namespace brightnet::cli
