// The processes of a run that is started again after they died (cli/restarts.h). The supervising process never opens a
// device: what died with the run's processes must not have harmed it.
#pragma once

#include <filesystem>

#include "brightnet/train.h"

namespace brightnet::cli {

/// Runs `train` in processes of its own, `ranks` of them, and starts them again up to `restarts` times; returns the exit
/// code of the last.
int run_supervised(const TrainingOptions& options, int ranks, int restarts);

/// Tells the supervising process, by a file, where the run's folder is, and that a step was made.
class ProgressReport : public RunObserver {
 public:
  explicit ProgressReport(std::filesystem::path file) : file_(std::move(file)) {}
  void began(const std::filesystem::path& folder) override;
  void step(const StepReport& report) override;

 private:
  std::filesystem::path file_;
  bool stepped_ = false;
};

}  // namespace brightnet::cli
