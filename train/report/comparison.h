// Runs side by side, from what is in their folders: a damaged or unfinished run is compared by what it has.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "train/config/config.h"
#include "train/report/metrics_csv.h"
#include "train/report/page.h"
#include "train/report/plots.h"
#include "train/run/data_fingerprint.h"

namespace brightnet {

struct ComparedRun {
  /// The folder as it was named, and the name for legends.
  std::string folder, name;
  std::optional<RunConfig> config;
  /// The name of the model, and its YAML without name and what `config` has (classes, size, head); empty: unknown.
  std::string model_name, network;
  MetricsTable curves;
  /// Fingerprints of its data; none: unknown.
  std::optional<SplitFingerprint> train, val;

  /// Scores of the best evaluation, as metrics.h has them; no_truths: unknown.
  double AP = -1, AP50 = -1, AP75 = -1;
  /// Epoch of the best evaluation; 0: none.
  int best_epoch = 0;
  /// Complete epochs.
  int epochs = 0;
  /// Seconds of training, without evaluations, and images per second in them; 0: unknown.
  double seconds = 0, images_per_s = 0;
  int64_t parameters = 0;
  uint64_t weights_bytes = 0;
  /// Messages about what is missing or broken.
  std::vector<std::string> problems;
};

bool is_run(const std::filesystem::path& folder);

/// Throws InputError only when this is no folder of a run at all.
ComparedRun read_run(const std::filesystem::path& folder);

/// The minutes of training at each row. An evaluation within an epoch has none of its own: its epoch's
/// seconds are in the epoch's row, or, while that is missing, are taken to be those of the epoch before.
std::vector<double> minutes_of(const MetricsTable& table);

/// A key with its value in each run; "-" where it is unknown.
struct DifferingKey {
  std::string key;
  std::vector<std::string> values;
};
/// Other data count as a key too, since data.root says nothing of what is in a folder.
std::vector<DifferingKey> differing_keys(const std::vector<ComparedRun>& runs);

/// A sentence that says so when the scores of runs cannot be compared; otherwise empty.
std::string other_validation(const std::vector<ComparedRun>& runs);

/// A row for each run, as people read it.
inline const std::vector<std::string> comparison_columns{
    "run", "AP50", "AP", "AP75", "best epoch", "epochs", "time", "images/s", "parameters", "weights"};
std::vector<std::vector<std::string>> comparison_rows(const std::vector<ComparedRun>& runs);

/// A table of the runs, one of the keys that differ, and what is wrong with any.
std::string comparison_text(const std::vector<ComparedRun>& runs);
Json comparison_json(const std::vector<ComparedRun>& runs);

/// AP, AP50, AP75 and the losses over the epochs, or over the minutes of training; a colour for each run.
std::vector<PlotPanel> comparison_panels(const std::vector<ComparedRun>& runs, bool over_minutes);
cv::Mat plot_comparison(const std::vector<ComparedRun>& runs, bool over_minutes);

/// The tables and curves as a page.
Page comparison_page(const std::vector<ComparedRun>& runs, bool over_minutes);

}  // namespace brightnet
