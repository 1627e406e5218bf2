// The search itself: proposes trials, runs them one by one or side by side, and keeps their results.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tune/search_folder.h"
#include "tune/trial.h"
#include "tune/trial_process.h"

namespace brightnet {

/// Everything that a search needs to know.
struct SearchSetup {
  SearchPlan plan;
  std::vector<TunedKey> keys;
  std::vector<double> configured;  ///< the value of each key in the configuration's run
  std::vector<std::string> share;  ///< "key.path=value": what each of several trials takes of the machine
  BestBy best_by = BestBy::AP;
  std::string program;               ///< path of the program brightnet
  int threads = 0;                   ///< CPU threads of each of several trials on the CPU; 0: all
  std::vector<std::string> devices;  ///< `--device` of each of the trials that run side by side
};

enum class SearchEnd : uint8_t { finished, interrupted };

class Search {
 public:
  /// Reads the results that the folder has. Both arguments outlive this object.
  Search(const SearchSetup& setup, const SearchFolder& folder);

  /// Runs the trials that have no result yet. `recorded` is called after each of them. A trial that fails
  /// scores 0 and the search goes on; only when the first one, the configuration itself, is refused for its
  /// input or device, that Error is thrown. On a request to stop the running trials are stopped and will be
  /// run again. One by one, a search that was stopped equals one that was not.
  SearchEnd run(const std::stop_token& stop, const std::function<void(const Trial&)>& recorded);

  /// The trials that have ended, in order of their numbers.
  const std::vector<Trial>& trials() const { return trials_; }
  /// Seconds until the last trial has ended, by the mean of those that have; negative: unknown.
  double seconds_left() const;

 private:
  struct Running {
    int number;
    Proposal proposal;
    std::unique_ptr<TrialProcess> process;
  };

  int next_trial() const;
  Running start(int number, const std::string& device, const std::stop_token& stop) const;
  /// Records that the trial has ended with this exit code.
  const Trial& record(const Running& running, int exit_code);
  void refuse_bad_input(const Running& running, int exit_code, const std::string& failure) const;
  void remove_weights() const;

  const SearchSetup& setup_;
  const SearchFolder& folder_;
  std::vector<Trial> trials_;
  /// The running trials, one for each of `devices`; null where none runs.
  std::vector<std::unique_ptr<Running>> running_;
};

/// The settings that --minutes and --epochs stand for, each with its option.
std::vector<std::string> length_settings(const SearchPlan& plan);
/// The overrides and the length that the plan sets in every trial.
Overrides trial_overrides(const SearchPlan& plan);
/// The command of a trial.
std::vector<std::string> trial_command(const SearchSetup& setup, const Proposal& proposal,
                                       const std::string& run, const std::string& device);
/// What its environment has besides this program's: "NAME=value".
std::vector<std::string> trial_environment(const SearchSetup& setup);

}  // namespace brightnet
