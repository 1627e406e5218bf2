#include "train/report/disk_forecast.h"

#include <algorithm>

#include "core/log.h"
#include "train/run/best_effort.h"
#include "train/run/disk_needs.h"

namespace brightnet {

void DiskForecast::run_began(const RunBegan& event) {
  BestEffort().attempt(name(), [&] { compare(event); });
}

void DiskForecast::compare(const RunBegan& event) const {
  const auto free = free_space_(setup_.folder.config());
  if (!free) return;
  const int average = setup_.config.train.average;
  // With a time limit nothing is planned yet: a guess that no small disk passes.
  constexpr int64_t most_epochs = 1000;
  const int64_t epochs = event.status.epochs > 0 ? std::min(event.status.epochs, most_epochs) : most_epochs;
  const int snapshots = setup_.config.train.save_epochs;
  const DiskNeeds needs{.state = event.state,
                        .weights = layout_.floats() * sizeof(float),
                        .weights_files = 2 + (average >= 2 ? average + 1 : 0) +
                                         (snapshots > 0 ? static_cast<int>(epochs / snapshots) : 0),
                        .epochs = epochs,
                        .evaluations = epochs / setup_.config.evaluate.every.value_or(10)};
  const std::string shortage =
      describe_shortage(needs, bytes_in(setup_.folder.path()), *free, setup_.folder.path().string());
  if (!shortage.empty()) log::warn("{}", shortage);
}

}  // namespace brightnet
