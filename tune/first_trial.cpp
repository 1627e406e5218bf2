#include "tune/first_trial.h"

#include <fmt/format.h>

#include "train/distributed/solo.h"
#include "train/setup/memory_advice.h"
#include "tune/search.h"

namespace brightnet {
namespace {

/// A single rank that shares its machine with other processes: there are `processes` in all.
class SharedMachine : public SoloCommunicator {
 public:
  explicit SharedMachine(int processes) : processes_(processes) {}
  int local_size() const override { return processes_; }

 private:
  int processes_;
};

}  // namespace

Preparation prepare_first_trial(const SearchPlan& plan, const std::string& device, int jobs) {
  RunRequest request;
  request.config = plan.config;
  request.overrides = trial_overrides(plan);
  SharedMachine machine(jobs);
  Preparation run = prepare(request, common_device(machine, [&] { return device; }), machine);
  fit_into_memory(run, machine);
  return run;
}

std::vector<std::string> share_of_trial(const RunConfig& asked, const Preparation& run, int jobs) {
  std::vector<std::string> share;
  if (jobs == 1) return share;
  const LoaderOptions& loader = run.config.loader;
  if (!asked.loader.workers.has_value())
    share.push_back(fmt::format("loader.workers={}", loader.workers.value()));
  if (!asked.loader.cache_mb.has_value() && loader.cache_mb.has_value())
    share.push_back(fmt::format("loader.cache_mb={}", loader.cache_mb.value()));
  // Each trial on a GPU has that GPU's memory.
  if (!run.backend->works_beside_host())
    share.push_back(
        fmt::format("train.memory_fraction={:.4g}", memory_fraction(run.config, *run.backend) / jobs));
  return share;
}

}  // namespace brightnet
