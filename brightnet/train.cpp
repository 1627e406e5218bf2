#include "brightnet/train.h"

#include "brightnet/scores.h"
#include "core/error.h"
#include "core/log.h"
#include "kernels/math/loss_totals.h"
#include "train/distributed/solo.h"
#include "train/setup/data_overrides.h"
#include "train/setup/preparation.h"
#include "train/setup/training_run.h"

namespace brightnet {

RunObserver::~RunObserver() = default;
void RunObserver::began(const std::filesystem::path&) {}
void RunObserver::step(const StepReport&) {}
void RunObserver::evaluated(const StepReport&, const Scores&) {}
void RunObserver::epoch(const StepReport&, const Scores*) {}

namespace {

StepReport report_of(const TrainingStatus& status) {
  const MeanLoss loss = mean_loss(status.losses);
  return {.epoch = status.epoch,
          .epochs = status.epochs,
          .step = status.step > 0 ? status.step : status.steps_per_epoch,
          .steps = status.steps_per_epoch,
          .iteration = status.iteration,
          .rate = status.rate,
          .loss = loss.total(),
          .box = loss.box,
          .objectness = loss.objectness,
          .classes = loss.classes,
          .seconds_left = status.seconds_left};
}

/// Tells the host's observer what the trainer tells this one.
class HostObserver : public TrainingObserver {
 public:
  HostObserver(RunObserver& host, const std::filesystem::path& folder) : host_(host), folder_(folder) {}

  std::string name() const override { return "The program's observer"; }
  void run_began(const RunBegan&) override { host_.began(folder_); }
  void step_done(const StepDone& event) override { host_.step(report_of(event.status)); }
  void evaluated(const Evaluated& event) override {
    if (event.within_epoch) host_.evaluated(report_of(event.status), scores_of(event.metrics));
  }
  void epoch_ended(const EpochEnded& event) override {
    if (!event.metrics) return host_.epoch(report_of(event.status), nullptr);
    const Scores scores = scores_of(*event.metrics);
    host_.epoch(report_of(event.status), &scores);
  }

 private:
  RunObserver& host_;
  const std::filesystem::path& folder_;
};

/// The run's train.log has the messages of one run and no later ones.
class LogOfOneRun {
 public:
  LogOfOneRun() { keep_messages(); }
  ~LogOfOneRun() { end_log_file(); }
  LogOfOneRun(const LogOfOneRun&) = delete;
  LogOfOneRun& operator=(const LogOfOneRun&) = delete;
};

RunRequest request_of(const TrainingOptions& options) {
  RunRequest request;
  request.config = options.config.string();
  std::error_code failed;
  if (std::filesystem::is_regular_file(options.data, failed) && !is_data(options.data)) {
    throw InputError("this is a run's configuration, not a data set", options.data,
                     "Name it as TrainingOptions::config.");
  }
  request.overrides = overrides_for(options.data, request.config, options.settings);
  auto& assignments = request.overrides.assignments;
  if (!options.model.empty()) assignments.insert(assignments.begin(), "model=" + yaml_quoted(options.model));
  if (options.device.precision != "auto")
    assignments.push_back("train.precision=" + options.device.precision);
  request.weights = options.weights;
  request.resuming = options.resume;
  (options.resume ? request.resume : request.out) = options.folder.string();
  return request;
}

TrainingOutcome outcome_of(const std::optional<TrainingEnd>& end) {
  if (!end) return TrainingOutcome::was_over;
  switch (*end) {
    case TrainingEnd::finished: return TrainingOutcome::finished;
    case TrainingEnd::no_better: return TrainingOutcome::no_better;
    case TrainingEnd::interrupted: return TrainingOutcome::stopped;
  }
  BRIGHTNET_CHECK(false, "an end that has no outcome");
}

}  // namespace

TrainingResult train(const TrainingOptions& options, const std::stop_token& stop, RunObserver* observer) {
  const LogOfOneRun log;
  SoloCommunicator alone;
  const RankDevice device = common_device(alone, [&] { return options.device.device; });
  std::filesystem::path folder;
  std::optional<HostObserver> host_observer;
  TrainingHost host;
  host.can_be_stopped = [&] { return stop; };
  host.folder_found = [&](const std::filesystem::path& found) { folder = found; };
  if (observer) host.observers.push_back(&host_observer.emplace(*observer, folder));
  const TrainedRun run = run_training(request_of(options), device, alone, host);
  TrainingResult result{.outcome = outcome_of(run.end),
                        .folder = run.folder,
                        .weights = run.weights,
                        .epochs = static_cast<int64_t>(run.progress.epoch),
                        .iterations = run.progress.iteration};
  if (run.best) result.best = scores_of(*run.best);
  return result;
}

}  // namespace brightnet
