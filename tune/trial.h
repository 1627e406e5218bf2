// The trials of a search, and the table that keeps their results: OUT/trials.csv.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tune/genetic.h"

namespace brightnet {

/// A trial that has ended.
struct Trial {
  int number = 0;
  int parent = -1;             ///< the trial whose values it changed; −1: the configuration
  std::vector<double> values;  ///< one value for each key
  double score = 0;            ///< evaluate.best_by of its best evaluation; 0 when it failed
  double seconds = 0;
  std::string failure;  ///< why it failed; empty: it did not
};

/// Writes the table atomically: a row a trial, in the order given.
void write_trials(const std::filesystem::path& file, const std::vector<TunedKey>& keys,
                  const std::vector<Trial>& trials);
/// Reads the table; no trials when there is no such file. Throws InputError with file:line for anything else
/// than what write_trials() writes for these keys.
std::vector<Trial> read_trials(const std::filesystem::path& file, const std::vector<TunedKey>& keys);

/// The trials in the form that propose() takes.
std::vector<ScoredTrial> scored(const std::vector<Trial>& trials);
/// The trial with the highest score above 0, the first of equals; nullptr when there is none.
const Trial* best_of(const std::vector<Trial>& trials);
/// "optimizer.rate=0.0031": all values of a trial. One that equals the configuration's is among them, since there it may
/// have been an `auto` that another value moves.
std::vector<std::string> assignments(const std::vector<TunedKey>& keys, const std::vector<double>& values);
/// The values that differ from the configuration's.
std::vector<std::string> differing_values(const std::vector<TunedKey>& keys,
                                          const std::vector<double>& configured,
                                          const std::vector<double>& values);

}  // namespace brightnet
