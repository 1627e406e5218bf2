#include "brightnet/tune.h"

#include <algorithm>
#include <sstream>

#include <fmt/ranges.h>

#include "core/files.h"
#include "core/log.h"
#include "core/option_ranges.h"
#include "core/printable.h"
#include "core/progress_line.h"
#include "core/text.h"
#include "core/threads.h"
#include "data/drawing/draw.h"
#include "formats/download/published_weights.h"
#include "kernels/device/device.h"
#include "train/config/contradictions.h"
#include "train/run/best_effort.h"
#include "train/setup/data_sets.h"
#include "train/setup/model.h"
#include "train/setup/named_run.h"
#include "tune/first_trial.h"
#include "tune/search.h"
#include "tune/search_report.h"
#include "tune/trial_process.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

constexpr size_t table_rows = 20;

/// A path as it was here, wherever the search is resumed; the name of a model or of published weights stays one.
std::string absolute_where_it_exists(const std::string& path, bool folder_is_name) {
  std::error_code failed;
  if (!fs::exists(path, failed) || (folder_is_name && fs::is_directory(path, failed))) return path;
  return fs::absolute(path).lexically_normal().string();
}

Configuration with_weights(const TuneOptions& options) {
  Configuration run = options.run;
  const std::string& weights = options.weights;
  if (!run.model.empty()) run.model = absolute_where_it_exists(run.model, true);
  if (!weights.empty()) {
    const bool is_name = find_published_weights(weights).has_value();
    run.settings.push_back("--weights:train.weights=" +
                           yaml_quoted(absolute_where_it_exists(weights, is_name)));
  }
  return run;
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

SearchPlan resumed_plan(const SearchOptions& search) {
  SearchPlan plan = read_plan(search.resumed);
  if (search.trials > 0) plan.trials = search.trials;
  plan.overrides =
      NamedRun({.config = plan.config, .data = plan.data, .settings = plan.overrides.assignments})
          .overrides();
  return plan;
}

/// A search that is resumed has these from its start.
void refuse_beside_resumed(const TuneOptions& options, const SearchOptions& search) {
  for (const auto& [given, option] : {std::pair(!options.folder.empty(), "--out"),
                                      {!search.keys.empty(), "--keys"},
                                      {search.minutes > 0, "--minutes"},
                                      {search.epochs > 0, "--epochs"},
                                      {search.seed != 0, "--seed"}}) {
    if (!given) continue;
    throw InputError("a search that is resumed keeps its own folder, keys, length and seed", option,
                     "Leave it out, or start a new search without --resume.");
  }
}

SearchPlan plan_of(const TuneOptions& options, const SearchOptions& search) {
  const Configuration run = with_weights(options);
  if (!search.resumed.empty()) {
    refuse_beside_resumed(options, search);
    if (!run.config.empty() || NamedRun(run).overrides()) {
      throw InputError("a search that is resumed keeps its own configuration", "--resume",
                       "Leave out the CONFIG and --set, or start a new search without --resume.");
    }
    return resumed_plan(search);
  }
  SearchPlan plan;
  plan.overrides = NamedRun(run).overrides();
  plan.keys = search.keys;
  plan.minutes = search.minutes;
  plan.epochs = search.epochs;
  plan.seed = search.seed;
  if (!run.config.empty()) plan.config = fs::absolute(run.config).lexically_normal().string();
  if (!run.data.empty()) plan.data = absolute_data(run.data);
  if (search.trials > 0) plan.trials = search.trials;
  std::vector<std::string> all = plan.overrides.assignments;
  for (const std::string& assignment : length_settings(plan)) all.push_back(assignment);
  refuse_contradictions(all);
  return plan;
}

void check_ranges(const SearchOptions& options) {
  const OptionRanges ranges("SearchOptions");
  ranges.at_least(0, "trials", options.trials);
  ranges.at_least(0, "minutes", options.minutes);
  ranges.at_least(0, "epochs", options.epochs);
  ranges.at_least(1, "jobs", options.jobs);
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
void share_machine(SearchSetup& setup, const std::string& device, int jobs) {
  const bool asks = jobs > 1 && parse_device(device).kind != DeviceKind::cpu;
  setup.devices = devices_of_jobs(device, jobs, asks ? cuda::inspect(0) : cuda::Installation());
  if (jobs == 1 || setup.devices[0] != setup.devices[1]) return;
  const int threads = compute_threads();
  if (threads < jobs) {
    throw InputError(fmt::format("{} threads cannot be shared by {} trials", threads, jobs), "--jobs",
                     fmt::format("Use --jobs {} at most.", threads));
  }
  setup.threads = threads / jobs;
}

std::string length_of(const SearchPlan& plan) {
  if (plan.minutes > 0) return fmt::format("{:g} minutes each", plan.minutes);
  if (plan.epochs > 0) return counted(plan.epochs, "epoch each", "epochs each");
  return "as long as the configuration says";
}

/// Throws where every trial failed, and more time would help none.
void refuse_failures(const std::vector<Trial>& trials, const SearchFolder& folder) {
  const bool all = !trials.empty() && std::ranges::all_of(trials, [](const Trial& trial) {
    return !trial.failure.empty() && !ended_without_score(trial.failure);
  });
  if (!all) return;
  const Trial& first = trials.front();
  const bool killed = was_killed(first.failure);
  const std::string what =
      trials.size() == 1 ? "the only trial" : fmt::format("all {} trials", trials.size());
  throw Error(killed ? ExitCode::input : ExitCode::internal,
              fmt::format("{} failed; of trial {}: {}", what, first.number, first.failure),
              folder.log(first.number).string(),
              std::string(killed ? "The system ends a process so where memory is exhausted: brightnet memory "
                                   "says what the run needs. Then"
                                 : "Mend that, and") +
                  " search with another --out: a trial that failed is not repeated.");
}

void say_result(const SearchSetup& setup, const Search& search, const SearchFolder& folder, bool drawn) {
  const Trial* best = best_of(search.trials());
  if (!best) {
    log::warn("No trial has found anything: give the trials more --minutes or --epochs.");
    return;
  }
  if (best->number == 0) {
    log::result("No trial was better than the configuration itself, whose {} is {:.4f}.",
                enum_name(setup.best_by), best->score);
  } else {
    log::result("Best: trial {}, {} {:.4f}, with {}", best->number, enum_name(setup.best_by), best->score,
                fmt::join(differing_values(setup.keys, setup.configured, best->values), " "));
  }
  log::result("All trials: {}{}", folder.table().string(), drawn ? ", " + folder.plot().string() : "");
  log::result("Train with the best values: brightnet train {}", shell_path(folder.best_config()));
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

/// The search in its folder, whose log has begun. Returns false when it was stopped.
bool search_in(const SearchFolder& folder, const SearchSetup& setup, const RunConfig& config,
               const TuneOptions& options, int jobs) {
  Search search(setup, folder);
  log::info("Searching in {}: {} trials, {}; {} have results. From {}", folder.path().string(),
            setup.plan.trials, length_of(setup.plan), search.trials().size(), start_of(setup));
  const auto write_best = [&] {
    if (const Trial* best = best_of(search.trials()))
      write_atomically(folder.best_config(), best_config(setup, config, *best));
  };
  BestEffort best_effort("The search and its results are");
  const auto draw = [&] {
    return best_effort.attempt("The plot of the trials",
                               [&] { write_image(folder.plot(), plot_search(setup, search.trials())); });
  };
  const std::stop_token stop = options.can_be_stopped ? options.can_be_stopped() : std::stop_token();
  const SearchEnd end = search.run(stop, [&](const Trial& trial) {
    log::info("{}", trial_line(setup, search.trials(), trial, search.seconds_left()));
    // At the end it must be there, and is written again.
    best_effort.attempt("The configuration with the best values", write_best);
    draw();
  });
  if (end == SearchEnd::interrupted) {
    log::info("Stopped by a signal after {} of {} trials. Resume with: {}", search.trials().size(),
              setup.plan.trials, resume_command(folder.path().string(), options.device, jobs));
    return false;
  }
  const bool drawn = draw();
  write_best();
  if (options.found) {
    options.found({trials_table(setup, search.trials(), table_rows),
                   to_text(to_json(setup, search.trials(), folder.best_config().string()))});
  }
  refuse_failures(search.trials(), folder);
  say_result(setup, search, folder, drawn);
  return true;
}

}  // namespace

bool search_values(const TuneOptions& options, const SearchOptions& search_options) {
  check_ranges(search_options);
  NamedRun(options.run).say_data();
  SearchSetup setup;
  setup.plan = plan_of(options, search_options);
  setup.keys = choose_keys(setup.plan.keys);
  setup.plan.keys.clear();
  for (const TunedKey& key : setup.keys) setup.plan.keys.emplace_back(key.name);
  const RunConfig config = load_run_config(setup.plan.config, setup.plan.overrides);
  check_keys(setup.keys, config);
  setup.best_by = config.evaluate.best_by;
  setup.program = search_options.program.string();
  share_machine(setup, options.device, search_options.jobs);
  const Model model = load_model(config, static_cast<int>(class_names(config).size()));
  prepare_setup(setup, config, search_options.jobs);
  // Until here a wrong value was said with its option; trials have them all by --set.
  for (std::string& assignment : setup.plan.overrides.assignments) assignment = without_option(assignment);

  const fs::path out = !search_options.resumed.empty() ? search_options.resumed
                       : !options.folder.empty()       ? options.folder
                                                       : fs::path("runs") / (config.name + "-tune");
  const SearchFolder folder(
      out, setup.plan, fmt::format("{}{}{}", print_config(config, false), model.yaml(), start_of(setup)));
  log_to_file(folder.path() / "tune.log");
  try {
    const bool finished = search_in(folder, setup, config, options, search_options.jobs);
    end_log_file();
    return finished;
  } catch (const std::exception& e) {
    end_log_file(e.what());
    throw;
  }
}

std::string list_searched_keys() {
  std::string text =
      fmt::format("{:<26} {:>10} {:>10}  {}\n", "value", "lowest", "highest", "searched without --keys");
  for (const TunedKey& key : tunable_keys())
    text += fmt::format("{:<26} {:>10g} {:>10g}  {}\n", key.name, key.low, key.high, key.usual ? "yes" : "-");
  return text;
}

std::vector<std::string> searched_keys() {
  std::vector<std::string> names;
  for (const TunedKey& key : tunable_keys()) names.emplace_back(key.name);
  return names;
}

}  // namespace brightnet
