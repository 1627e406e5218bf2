// A run of training, from its request to its closing words: what `train` runs.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "detect/evaluate/metrics.h"
#include "train/distributed/communicator.h"
#include "train/loop/training_observer.h"
#include "train/run/progress.h"
#include "train/run/run_folder.h"
#include "train/setup/automatic_facts.h"
#include "train/setup/request.h"

namespace brightnet {

/// The part that the caller of run_training() takes in the run.
struct TrainingHost {
  /// Called once the run has a folder and so a log.
  std::function<void(const std::filesystem::path& folder)> folder_found = [](const auto&) {};
  /// Called once the run can be stopped and resumed. Before that, a stop ends it with nothing to save. Returns the token by
  /// which it is asked to stop; every rank has its own, and one is enough.
  std::function<std::stop_token()> can_be_stopped = [] { return std::stop_token(); };
  /// Observers besides those of the run's report, on rank 0.
  std::vector<TrainingObserver*> observers = {};
};

struct TrainedRun {
  /// How training ended; none: it was over before it began.
  std::optional<TrainingEnd> end;
  std::filesystem::path folder;
  std::filesystem::path weights;  ///< weights to use; the file is missing where the disk was full
  Progress progress;
  std::optional<Metrics> best;  ///< metrics of the best evaluation
};

/// Prepares, trains and reports; logs what people want to know. All ranks call it. Throws InputError, also for files
/// that could not be written until the end, and DeviceError.
TrainedRun run_training(const RunRequest& request, const RankDevice& device, Communicator& ranks,
                        const TrainingHost& host);

}  // namespace brightnet
