// A small run with everything that its trainer refers to, and a CPU backend that records its calls, which show
// how the parts of a run work together.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/train/small_run.h"
#include "train/loop/trainer.h"
#include "train/report/observers.h"
#include "train/setup/finetune.h"
#include "train/setup/model.h"

namespace brightnet::testing {

/// The model of a run whose configuration is complete.
inline Model model_of_run(const RunConfig& config, int classes) {
  Model model = load_model(config, classes);
  set_rates(model, config.train);
  return model;
}

/// Files of a run that tries again at once at its end.
inline OutputFiles without_pauses() {
  OutputFiles files;
  files.pause = [](double) {};
  return files;
}

/// What watches a small run. Drawing the report takes half of its time, so that only tests of the report have it.
enum class WatchedBy { nobody, all_but_report, all };

/// Everything that a trainer refers to.
struct SmallTraining {
  SmallTraining(const RunConfig& run_config, const std::filesystem::path& path, bool old = false,
                std::unique_ptr<Backend> device = make_cpu_backend())
      : config(run_config),
        train(read_dataset(config.data, Split::train)),
        val(read_dataset(config.data, Split::val)),
        model(model_of_run(config, 2)),
        layout(model),
        backend(std::move(device)),
        folder(old ? RunFolder::open(path) : RunFolder::create(path)) {
    if (!old) {
      write_atomically(folder.model(), model.yaml());
      write_atomically(folder.config(), print_config(config));
    }
  }
  Trainer make(const std::vector<float>& initial, DeviceCollectives* collectives = nullptr) {
    Communicator& solo = Communicator::solo();
    setup.emplace(TrainingSetup{.config = config,
                                .model = model,
                                .train = train,
                                .val = val,
                                .backend = *backend,
                                .folder = folder,
                                .files = files,
                                .collectives = collectives ? *collectives : solo.host_collectives(),
                                .now = now});
    observers =
        std::make_unique<RunObservers>(*setup, layout, std::vector<std::vector<std::string>>(), free_space);
    if (watched_by != WatchedBy::nobody) setup->observers = observers->all();
    if (watched_by == WatchedBy::all_but_report) std::erase(setup->observers, &observers->report());
    setup->observers.insert(setup->observers.end(), observers_besides.begin(), observers_besides.end());
    return Trainer(*setup, layout, initial);
  }
  /// `collectives`: of tensors, in the place of one rank's; nullptr: those.
  Trainer make(DeviceCollectives* collectives = nullptr) {
    return make(initial_parameters(model, layout, config.train.seed), collectives);
  }

  RunConfig config;
  Dataset train, val;
  Model model;
  ParameterLayout layout;
  std::unique_ptr<Backend> backend;
  RunFolder folder;
  OutputFiles files = without_pauses();
  WatchedBy watched_by = WatchedBy::all_but_report;
  std::vector<TrainingObserver*> observers_besides;
  /// Of the last trainer.
  std::optional<TrainingSetup> setup;
  std::unique_ptr<RunObservers> observers;
  std::function<double()> now = seconds_now;
  FreeSpace free_space = free_bytes;
};

/// The tensors of a weights file by their names.
inline std::map<std::string, std::vector<float>> tensors_of(const std::filesystem::path& file) {
  SafetensorsReader reader(file);
  std::map<std::string, std::vector<float>> all;
  for (const auto& [name, info] : reader.tensors()) all[name] = reader.read(name);
  return all;
}

/// The loss of a head over a micro-batch, as the device was asked for it.
struct SeenLoss {
  int input_width = 0;
  int grid_width = 0;
  AssignmentKind assignment = AssignmentKind::best_anchor;
};

/// What a device was given to do.
struct SeenWork {
  std::vector<SeenLoss> losses;
  std::vector<float> rates;   ///< one an optimizer step
  std::vector<double> norms;  ///< of the gradient, one an optimizer step
  std::function<void()> before_loss, before_detection;
  std::stop_source stop;  ///< for what these functions ask the run to
};

/// The loss of a small run's training is computed for two heads a micro-batch.
constexpr size_t heads = 2;

class WatchedBackend : public cpu::CpuBackend {
 public:
  explicit WatchedBackend(SeenWork& seen) : seen_(seen) {}
  void yolo_loss(const YoloHead& head, const YoloLossPass& pass) override {
    if (!pass.totals) return cpu::CpuBackend::yolo_loss(head, pass);  // of an evaluation
    if (seen_.before_loss) seen_.before_loss();
    seen_.losses.push_back({head.input_width, pass.predictions.shape.w, head.assignment});
    cpu::CpuBackend::yolo_loss(head, pass);
  }
  void yolo_detect(const YoloHead& head, const Tensor& predictions, float threshold,
                   std::span<std::vector<Detection>> detections, void* workspace) override {
    if (seen_.before_detection) seen_.before_detection();
    cpu::CpuBackend::yolo_detect(head, predictions, threshold, detections, workspace);
  }
  void check_step(const StepPolicy& policy, const StepEvidence& evidence, StepState* state,
                  void* workspace) override {
    cpu::CpuBackend::check_step(policy, evidence, state, workspace);
    seen_.norms.push_back(state->norm);
  }
  void optimizer_step(const OptimizerRule& rule, const OptimizerArrays& arrays,
                      std::span<const ParameterRange> ranges, const StepState* state) override {
    seen_.rates.push_back(state->rate);
    cpu::CpuBackend::optimizer_step(rule, arrays, ranges, state);
  }

 private:
  SeenWork& seen_;
};

/// Changes the saved state of a run whose optimizer is SGD; its arrays stay as they are.
inline void change_state(const SmallTraining& training, const std::function<void(RunState&)>& change) {
  std::vector<float> values(training.layout.floats()), ema(values),
      momentum(training.layout.trainable_floats());
  const std::vector<StateArray> arrays{{"values", values.data(), values.size()},
                                       {"ema", ema.data(), ema.size()},
                                       {"optimizer.momentum", momentum.data(), momentum.size()}};
  RunState state =
      load_state(training.folder.state(), arrays, describe_layout(training.layout), *training.backend);
  change(state);
  save_state(training.folder.state(), state, arrays, *training.backend);
}

}  // namespace brightnet::testing
