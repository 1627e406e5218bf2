#include "tune/search.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/ranges.h>

#include "core/error.h"
#include "core/log.h"
#include "train/run/run_lock.h"
#include "train/setup/known_runs.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds between_looks{20};

/// What an interrupted trial has left is not a result. The trial of a search that was killed ends by itself, but not before
/// its step, and then saves.
void remove_remains(const fs::path& run, const std::stop_token& stop) {
  constexpr std::chrono::milliseconds soon{500}, limit{120'000};
  const RunFolder folder = RunFolder::at(run);
  if (!wait_for_end_of_run(folder, soon, stop)) {
    log::info("{}: a trial of the search that was interrupted still ends: waiting for it.", run.string());
    if (!wait_for_end_of_run(folder, limit, stop) && !stop.stop_requested()) {
      throw InputError("a trial of the search that was interrupted still runs", run.string(),
                       "Stop its process, which state/lock names, and resume the search.");
    }
  }
  std::error_code failed;
  fs::remove_all(run, failed);
  if (failed) {
    throw InputError("what an interrupted trial has left cannot be removed: " + failed.message(),
                     run.string(), "Remove it, and resume the search.");
  }
}

}  // namespace

std::vector<std::string> length_settings(const SearchPlan& plan) {
  if (plan.minutes > 0) return {fmt::format("--minutes:train.minutes={}", plan.minutes)};
  if (plan.epochs == 0) return {};
  return {fmt::format("--epochs:train.epochs={}", plan.epochs), "--epochs:train.minutes=0",
          "--epochs:train.iterations=0"};  // the length of a .cfg, which would win
}

Overrides trial_overrides(const SearchPlan& plan) {
  Overrides overrides = plan.overrides;
  for (const std::string& assignment : length_settings(plan))
    overrides.assignments.push_back(without_option(assignment));
  return overrides;
}

std::vector<std::string> trial_command(const SearchSetup& setup, const Proposal& proposal,
                                       const std::string& run, const std::string& device) {
  const SearchPlan& plan = setup.plan;
  std::vector<std::string> words{setup.program, "train", "--out", run, "--device", device};
  if (!plan.config.empty()) words.insert(words.begin() + 2, plan.config);
  if (!plan.data.empty()) words.insert(words.end(), {"--data", plan.data});
  const auto set = [&](const std::string& assignment) { words.push_back("--set=" + assignment); };
  for (const std::string& assignment : trial_overrides(plan).assignments) set(assignment);
  // Not the name of the configuration's own runs, of which `train --resume` takes the newest.
  set("name=" + fs::path(run).filename().string());
  for (const std::string& assignment : setup.share) set(assignment);
  if (proposal.values == setup.configured) return words;  // the configuration as it is
  for (const std::string& value : assignments(setup.keys, proposal.values)) set(value);
  return words;
}

std::vector<std::string> trial_environment(const SearchSetup& setup) {
  std::vector<std::string> variables{fmt::format("{}=1", unlisted_variable)};
  if (setup.threads > 0) variables.push_back(fmt::format("OMP_NUM_THREADS={}", setup.threads));
  return variables;
}

Search::Search(const SearchSetup& setup, const SearchFolder& folder)
    : setup_(setup),
      folder_(folder),
      trials_(read_trials(folder.table(), setup.keys)),
      running_(setup.devices.size()) {}

SearchEnd Search::run(const std::stop_token& stop, const std::function<void(const Trial&)>& recorded) {
  for (;;) {
    bool any = false;
    for (size_t job = 0; job < running_.size(); ++job) {
      auto& running = running_[job];
      if (const auto code = running ? running->process->ended() : std::nullopt) {
        const auto ended = std::move(running);
        // A Ctrl-C that reaches the trial as well must not make a result of it.
        if (!stop.stop_requested()) recorded(record(*ended, *code));
      }
      const int next = next_trial();
      if (!running && next < setup_.plan.trials && !stop.stop_requested())
        running = std::make_unique<Running>(start(next, setup_.devices[job], stop));
      any |= running != nullptr;
    }
    if (stop.stop_requested()) {
      for (const auto& running : running_) {
        if (running) running->process->stop();
      }
      for (auto& running : running_) running.reset();
      return SearchEnd::interrupted;
    }
    if (!any) return SearchEnd::finished;
    std::this_thread::sleep_for(between_looks);
  }
}

/// The first that neither has a result nor runs.
int Search::next_trial() const {
  const auto taken = [&](int number) {
    return std::any_of(trials_.begin(), trials_.end(), [&](const Trial& t) { return t.number == number; }) ||
           std::any_of(running_.begin(), running_.end(),
                       [&](const auto& r) { return r && r->number == number; });
  };
  int number = 0;
  while (taken(number)) ++number;
  return number;
}

Search::Running Search::start(int number, const std::string& device, const std::stop_token& stop) const {
  Proposal proposal = propose(setup_.keys, setup_.configured, scored(trials_), setup_.plan.seed, number);
  remove_remains(folder_.run(number), stop);
  const auto changes = differing_values(setup_.keys, setup_.configured, proposal.values);
  const std::string from = proposal.parent < 0 ? "" : fmt::format("changed from trial {}: ", proposal.parent);
  log::info(
      "Trial {} ({} of {}) begins, {}", number, number + 1, setup_.plan.trials,
      changes.empty() ? "the configuration as it is" : from + fmt::format("{}", fmt::join(changes, " ")));
  auto process =
      std::make_unique<TrialProcess>(trial_command(setup_, proposal, folder_.run(number).string(), device),
                                     folder_.log(number), trial_environment(setup_));
  return {number, std::move(proposal), std::move(process)};
}

const Trial& Search::record(const Running& running, int exit_code) {
  const TrialOutcome outcome =
      outcome_of(folder_.run(running.number), exit_code, folder_.log(running.number), setup_.best_by);
  refuse_bad_input(running, exit_code, outcome.failure);
  // The run has its own train.log; what a failed trial said last may stand here alone.
  std::error_code ignored;
  if (outcome.failure.empty()) fs::remove(folder_.log(running.number), ignored);
  const Trial trial{running.number, running.proposal.parent,    running.proposal.values,
                    outcome.score,  running.process->seconds(), outcome.failure};
  const auto place = std::upper_bound(trials_.begin(), trials_.end(), trial,
                                      [](const Trial& a, const Trial& b) { return a.number < b.number; });
  const Trial& kept = *trials_.insert(place, trial);
  write_trials(folder_.table(), setup_.keys, trials_);
  remove_weights();
  return kept;
}

void Search::refuse_bad_input(const Running& running, int exit_code, const std::string& failure) const {
  if (running.number > 0) return;
  for (const ExitCode code : {ExitCode::input, ExitCode::device}) {
    if (exit_code == static_cast<int>(code))
      throw Error(code, "the first trial, which is the configuration itself, failed: " + failure, "", "");
  }
}

/// Only the best trial keeps its weights and state: those of a hundred runs would fill the disk.
void Search::remove_weights() const {
  const Trial* best = best_of(trials_);
  for (const Trial& trial : trials_) {
    if (&trial == best) continue;
    for (const char* inner : {"weights", "state"}) {
      std::error_code ignored;
      fs::remove_all(folder_.run(trial.number) / inner, ignored);
    }
  }
}

double Search::seconds_left() const {
  if (trials_.empty()) return -1;
  double sum = 0;
  for (const Trial& trial : trials_) sum += trial.seconds;
  const int left = std::max(0, setup_.plan.trials - static_cast<int>(trials_.size()));
  return sum / trials_.size() * left / running_.size();
}

}  // namespace brightnet
