// The folder of a search: what is searched (state/search.json), the trials' results (trials.csv), their runs
// (trials/0007), the plot and the best configuration. With the same plan a search goes on in its folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "train/config/config.h"
#include "train/run/run_lock.h"
#include "tune/tuned_keys.h"

namespace brightnet {

/// The plan of a search, which goes on only with the same plan, but for `trials`, which may grow or shrink.
struct SearchPlan {
  std::string config;   ///< path of the run's YAML or .cfg; empty: the overrides are all
  std::string data;     ///< what the trials' --data names; empty: the configuration's
  Overrides overrides;  ///< overrides of every trial; those of `data` are recognized anew on a resume
  std::vector<std::string> keys;  ///< the names of what is searched
  double minutes = 0;             ///< time limit of each trial; 0: as the configuration or `epochs` say
  int epochs = 0;                 ///< epochs of each trial; 0: as the configuration or `minutes` say
  uint64_t seed = 0;
  int trials = 30;
};

class SearchFolder {
 public:
  /// Creates the folder, or opens that of the same search, and locks it while this object lives.
  /// `configuration` is what the plan's file and overrides mean. Throws InputError when the folder has other
  /// files, or results of another search, and says in what they differ.
  SearchFolder(const std::filesystem::path& path, const SearchPlan& plan, const std::string& configuration);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path table() const { return path_ / "trials.csv"; }
  std::filesystem::path plot() const { return path_ / "tune.png"; }
  std::filesystem::path best_config() const { return path_ / "config.yaml"; }
  /// The run of a trial, and the file with what it printed.
  std::filesystem::path run(int trial) const;
  std::filesystem::path log(int trial) const;

 private:
  std::filesystem::path path_;
  std::unique_ptr<RunLock> lock_;
};

/// The plan of the search in this folder. Throws InputError when there is none.
SearchPlan read_plan(const std::filesystem::path& folder);

}  // namespace brightnet
