// Everything that watches a run of `brightnet train`: its messages, the advice on its loader and
// on the disk, and its report.
#pragma once

#include <string>
#include <vector>

#include "train/report/disk_forecast.h"
#include "train/report/loader_advice.h"
#include "train/report/progress_observer.h"
#include "train/report/report_observer.h"

namespace brightnet {

/// The observers of rank 0, which writes files and messages.
class RunObservers {
 public:
  /// The arguments are those of ReportObserver and DiskForecast. The trainer is given all() with its setup.
  RunObservers(const TrainingSetup& setup, const ParameterLayout& layout,
               std::vector<std::vector<std::string>> choices = {}, FreeSpace free_space = free_bytes)
      : disk_(setup, layout, std::move(free_space)),
        progress_(setup),
        loader_(setup.config.loader, setup.train, setup.communicator),
        report_(setup, layout, std::move(choices)) {}
  RunObservers(const RunObservers&) = delete;
  RunObservers& operator=(const RunObservers&) = delete;

  /// Returns them in the order in which they are told: what is said of an epoch comes before its row in the tables.
  std::vector<TrainingObserver*> all() { return {&disk_, &progress_, &loader_, &report_}; }
  ReportObserver& report() { return report_; }

 private:
  DiskForecast disk_;
  ProgressObserver progress_;
  LoaderAdvisor loader_;
  ReportObserver report_;
};

}  // namespace brightnet
