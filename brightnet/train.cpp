#include "brightnet/train.h"

#include <atomic>

#include "brightnet/scores.h"
#include "core/error.h"
#include "core/log.h"
#include "kernels/device/device.h"
#include "kernels/math/loss_totals.h"
#include "train/distributed/solo.h"
#include "train/setup/named_run.h"
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

/// The run's train.log has the messages of one run and no later ones. Throws InputError while another run has it.
class LogOfOneRun {
 public:
  LogOfOneRun() {
    if (taken_.exchange(true)) {
      throw InputError("a training is running in this process, and its log would have the messages of both",
                       "", "Wait for its end, or train in another process.");
    }
    keep_messages();
  }
  ~LogOfOneRun() {
    end_log_file();
    taken_ = false;
  }
  LogOfOneRun(const LogOfOneRun&) = delete;
  LogOfOneRun& operator=(const LogOfOneRun&) = delete;

 private:
  static inline std::atomic<bool> taken_ = false;
};

/// The configuration with what the options say in the place of settings.
Configuration configuration_of(const TrainingOptions& options) {
  Configuration run = options.run;
  if (options.no_graph) run.settings.emplace_back("--no-graph:train.graph=false");
  if (options.epochs == 0) return run;
  run.settings.push_back("--epochs:train.epochs=" + std::to_string(options.epochs));
  run.settings.emplace_back("--epochs:train.iterations=0");  // the length of a .cfg, which would win
  return run;
}

RunRequest request_of(const TrainingOptions& options) {
  if (!options.resume && !options.out.empty()) {
    throw InputError("out is for a run that is resumed: it says what the folder of that run was",
                     "TrainingOptions::out", "Name the folder of a new run by TrainingOptions::folder.");
  }
  RunRequest request;
  request.config = options.run.config;
  request.overrides = NamedRun(configuration_of(options)).overrides();
  request.weights = options.weights;
  request.weights_cfg = options.weights_cfg;
  request.weights_partial = options.weights_partial;
  request.resuming = options.resume;
  (options.resume ? request.resume : request.out) = options.folder.string();
  if (options.resume) request.out = options.out.string();
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

TrainingResult train_on(const RankDevice& device, const RunRequest& request, Communicator& ranks,
                        TrainingHost& host, RunObserver* observer) {
  std::filesystem::path folder;
  host.folder_found = [&, said = host.folder_found](const std::filesystem::path& found) {
    folder = found;
    said(found);
  };
  std::optional<HostObserver> host_observer;
  if (observer) host.observers.push_back(&host_observer.emplace(*observer, folder));
  const TrainedRun run = run_training(request, device, ranks, host);
  TrainingResult result{.outcome = outcome_of(run.end),
                        .folder = run.folder,
                        .weights = run.weights,
                        .epochs = run.progress.epoch,
                        .iterations = run.progress.iteration};
  if (run.best) result.best = scores_of(*run.best);
  return result;
}

}  // namespace

TrainingResult train(const TrainingOptions& options, const std::stop_token& stop, RunObserver* observer) {
  const LogOfOneRun log;
  std::error_code failed;
  if (std::filesystem::is_regular_file(options.run.data, failed) && !is_data(options.run.data)) {
    throw InputError("this is a run's configuration, not a data set", options.run.data,
                     "Name it as Configuration::config.");
  }
  SoloCommunicator alone;
  const cuda::KeptGpu kept(options.device != "cpu");
  const RankDevice device = common_device(alone, [&] { return options.device; });
  TrainingHost host;
  host.can_be_stopped = [&] { return stop; };
  return train_on(device, request_of(options), alone, host, observer);
}

TrainingResult train(const TrainingOptions& options, Ranks& ranks, const TrainingHooks& hooks) {
  keep_messages();
  const RankDevice device = common_device(ranks, options.device);
  RunRequest request;
  ranks.prepare([&] { request = request_of(options); });
  TrainingHost host;
  host.folder_found = [&](const auto&) {
    if (ranks.leads()) NamedRun(options.run).say_data();
  };
  if (hooks.can_be_stopped) host.can_be_stopped = hooks.can_be_stopped;
  return train_on(device, request, ranks.communicator(), host, hooks.observer);
}

PlannedTraining check_training(const TrainingOptions& options, int ranks) {
  const RunRequest request = with_run_found(request_of(options));
  const RunConfig config = request.resuming      ? open_old_run(request).config
                           : request.begin_again ? config_of_begun_run(request)
                                                 : requested_config(request);
  check_batch(config.train, ranks, request.resuming || request.begin_again);
  return {.restarts = config.train.restarts};
}

}  // namespace brightnet
