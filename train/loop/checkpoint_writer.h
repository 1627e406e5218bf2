// What a run keeps in its folder: the state to resume from, the last and the best weights, the sets of its best
// evaluations and the average of these. Files that cannot be written for a while do not end the run
// (train/run/output_files.h).
#pragma once

#include <filesystem>
#include <utility>
#include <vector>

#include "train/loop/growing_input.h"
#include "train/loop/kept_sets.h"
#include "train/loop/training_setup.h"
#include "train/loop/training_step.h"
#include "train/loop/validation.h"
#include "train/run/checkpoint.h"

namespace brightnet {

/// Rank 0 writes; all ranks read.
class CheckpointWriter {
 public:
  /// All arguments outlive this object. `layout` is that of trained_model().
  CheckpointWriter(const TrainingSetup& setup, const ParameterLayout& layout, const TrainingStep& step,
                   const Validation& validation);

  /// The saved state, with the arrays that the step has read of it. Rank 0 warns when the number of threads or the
  /// data differ from the saved ones.
  RunState load() const;

  /// Writes the state and the last weights, and tries again to write what could not be written before. Without a later
  /// save (`last`), the step must stay as it is until the files are written.
  void save(const Progress& progress, bool last);
  /// Writes the last weights alone.
  void save_last(const Progress& progress);
  /// Writes the current weights as the best.
  void save_best(const Progress& progress);
  /// Keeps the current weights, after an epoch (train.save_epochs).
  void save_snapshot(const Progress& progress);
  /// Keeps the current weights if `progress` lists them among the best evaluations'.
  void keep_set(const Progress& progress);

  /// The mean of the kept sets, and the number of these.
  std::pair<std::vector<float>, int> mean_of_sets(const Progress& progress) const {
    return kept_.mean(progress.kept);
  }
  /// Writes the average of this many sets if its evaluation, `metrics`, scores better than the best weights,
  /// and says so; an earlier one that does not is removed with the next state. All ranks call it.
  void offer_average(std::vector<float> values, const Metrics& metrics, int sets, Progress& progress);

 private:
  std::vector<float> values_of_model(std::vector<float> values, const ParameterLayout& layout) const;
  /// Writes weights, and with them what the evaluation found, if it is of these weights.
  void write_weights(const std::filesystem::path& file, std::vector<float> values,
                     const LastEvaluation& evaluation, const Progress& progress);

  const TrainingSetup& setup_;
  const ParameterLayout& layout_;
  const TrainingStep& step_;
  const Validation& validation_;
  SplitFingerprint train_data_, val_data_;
  GrowingInput growing_;
  KeptSets kept_;
};

}  // namespace brightnet
