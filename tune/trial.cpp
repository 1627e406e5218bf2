#include "tune/trial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/files.h"
#include "core/text.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

constexpr size_t cells_before = 4;  ///< trial, parent, score, seconds

std::string header(const std::vector<TunedKey>& keys) {
  std::string line = "trial,parent,score,seconds";
  for (const TunedKey& key : keys) line += fmt::format(",{}", key.name);
  return line + ",failure";
}

Trial parse(const std::string& line, size_t keys, const std::string& where) {
  Trial trial;
  std::vector<double> numbers;
  const auto cells = csv_fields(line);
  const size_t with_numbers = cells_before + keys;
  for (size_t i = 0; i < with_numbers; ++i) {
    const bool whole = cells && cells->size() == with_numbers + 1;
    const auto number = whole ? parse_number((*cells)[i]) : std::nullopt;
    const bool counts = i < 2;  // a trial, and the one that it changes
    if (!number || (counts && std::abs(*number) > std::numeric_limits<int>::max()))
      throw InputError("this row of trials is broken", where, "Remove it: it is tried again.");
    numbers.push_back(*number);
  }
  trial.number = static_cast<int>(numbers[0]);
  trial.parent = static_cast<int>(numbers[1]);
  trial.score = numbers[2];
  trial.seconds = numbers[3];
  trial.values.assign(numbers.begin() + cells_before, numbers.end());
  trial.failure = cells->back();
  return trial;
}

}  // namespace

void write_trials(const fs::path& file, const std::vector<TunedKey>& keys, const std::vector<Trial>& trials) {
  std::string text = header(keys) + '\n';
  for (const Trial& trial : trials) {
    text += fmt::format("{},{},{},{:.1f}", trial.number, trial.parent, trial.score, trial.seconds);
    for (const double value : trial.values) text += fmt::format(",{}", value);
    std::string failure = trial.failure;
    std::replace(failure.begin(), failure.end(), '\n', ' ');
    text += ',' + csv_quoted(failure) + '\n';
  }
  write_atomically(file, text);
}

std::vector<Trial> read_trials(const fs::path& file, const std::vector<TunedKey>& keys) {
  std::vector<Trial> trials;
  if (!fs::exists(file)) return trials;
  bool first = true;
  for (const TextLine& line : read_lines(file)) {
    const std::string where = at_line(file, line.number);
    if (!first) trials.push_back(parse(line.text, keys.size(), where));
    if (first && line.text != header(keys)) {
      throw InputError("this is no table of trials of these values", where,
                       "Start a new search with another --out.");
    }
    first = false;
  }
  return trials;
}

std::vector<ScoredTrial> scored(const std::vector<Trial>& trials) {
  std::vector<ScoredTrial> all;
  for (const Trial& trial : trials) all.push_back({trial.number, trial.values, trial.score});
  return all;
}

const Trial* best_of(const std::vector<Trial>& trials) {
  const Trial* best = nullptr;
  for (const Trial& trial : trials) {
    if (trial.score <= 0) continue;
    const bool better =
        !best || trial.score > best->score || (trial.score == best->score && trial.number < best->number);
    if (better) best = &trial;
  }
  return best;
}

std::vector<std::string> assignments(const std::vector<TunedKey>& keys, const std::vector<double>& values) {
  std::vector<std::string> all;
  for (size_t i = 0; i < keys.size(); ++i) all.push_back(fmt::format("{}={}", keys[i].name, values[i]));
  return all;
}

std::vector<std::string> differing_values(const std::vector<TunedKey>& keys,
                                          const std::vector<double>& configured,
                                          const std::vector<double>& values) {
  std::vector<std::string> all;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (values[i] != configured[i]) all.push_back(fmt::format("{}={}", keys[i].name, values[i]));
  }
  return all;
}

}  // namespace brightnet
