// Searches for better hyper-parameters by trials, each a run of the program `brightnet`, and finds a learning rate.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "brightnet/answer.h"
#include "brightnet/configuration.h"
#include "brightnet/public.h"

namespace brightnet {

/// Options of both search_values() and find_rate().
struct TuneOptions {
  Configuration run = {};             ///< the configuration where the search starts
  std::string weights = {};           ///< weights that every trial starts from; may be empty
  std::string device = "auto";        ///< as DeviceOptions::device
  std::filesystem::path folder = {};  ///< for the results; empty: runs/NAME-tune or runs/NAME-rate
  /// Called once the work can be stopped; before that, a stop ends it with nothing to save.
  std::function<std::stop_token()> can_be_stopped = {};
  /// Is given the answer before the closing words are logged.
  std::function<void(const Answer&)> found = {};
};

struct SearchOptions {
  std::filesystem::path program = {};  ///< the path of the program `brightnet`
  std::filesystem::path resumed = {};  ///< the folder of a search to continue; `run` is empty then
  std::vector<std::string> keys = {};  ///< names of the values to search; empty: the usual ones
  int trials = 0;      ///< in all, with the configuration itself; 0: 30, or as the resumed search
  double minutes = 0;  ///< length of each trial; 0: as the configuration or `epochs` say
  int epochs = 0;      ///< length of each trial; 0: as the configuration or `minutes` say
  uint64_t seed = 0;   ///< seed of the search's random numbers
  int jobs = 1;        ///< trials side by side: on a GPU each, or with a share of the threads
};

/// Runs the trials and keeps their table, their plot and the configuration with the best values. Returns false when it was
/// stopped, and the same search can be resumed. Blocks. Throws InputError and DeviceError as the first trial does, and Error
/// where every trial failed.
BRIGHTNET_PUBLIC bool search_values(const TuneOptions& options, const SearchOptions& search);

/// A table of what can be searched, and its keys.
BRIGHTNET_PUBLIC std::string list_searched_keys();
BRIGHTNET_PUBLIC std::vector<std::string> searched_keys();

/// Trains 20 to 10000 steps while the learning rate grows, and suggests one. Keeps the curve and nothing else. Returns false
/// when it was stopped, and then keeps nothing.
BRIGHTNET_PUBLIC bool find_rate(const TuneOptions& options, int steps = 150);

}  // namespace brightnet
