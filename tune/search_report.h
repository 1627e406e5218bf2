// What a search leaves for its user: a table, JSON, a plot, and the best configuration.
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "core/json.h"
#include "tune/search.h"

namespace brightnet {

/// "Trial 7 (8 of 40): AP 0.3120 (best 0.3341, trial 4), 3:12; about 1:40:00 left".
std::string trial_line(const SearchSetup& setup, const std::vector<Trial>& trials, const Trial& trial,
                       double seconds_left);

/// The command that goes on with the search in this folder, on the same device with as many trials side by side: the
/// folder does not keep these.
std::string resume_command(const std::string& folder, const std::string& device, int jobs);

/// The trials, best first, with what differs from the configuration; at most `rows` of them.
std::string trials_table(const SearchSetup& setup, const std::vector<Trial>& trials, size_t rows);

/// {"best", "score", "trials": [{"trial", "parent", "score", "seconds", "failure", "values"}], "config"}.
Json to_json(const SearchSetup& setup, const std::vector<Trial>& trials, const std::string& best_config);

/// The user's configuration with the values of `best`, which `train` reads in any folder: its paths are
/// absolute. `config` is what the plan's file and assignments mean.
std::string best_config(const SearchSetup& setup, const RunConfig& config, const Trial& best);

/// A panel for each key: its values and the scores of the trials that did not fail, the best one marked.
/// RGB, for write_image().
cv::Mat plot_search(const SearchSetup& setup, const std::vector<Trial>& trials);

}  // namespace brightnet
