// Device memory of a run, planned before anything is allocated. `brightnet memory` prints the same numbers,
// the micro-batch is chosen by them, and the trainer allocates exactly as much.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "core/host_memory.h"
#include "layers/distillation.h"
#include "train/config/config.h"

namespace brightnet {

/// Whether the device paints the training samples itself (loader.paint). Throws InputError, naming the key, where it is to
/// and cannot.
bool device_paints(const RunConfig& config, const Backend& backend);
/// Whether it decodes JPEG files (loader.decode). Throws as device_paints(), and DeviceError without nvJPEG.
bool device_decodes(const RunConfig& config, const Backend& backend);

/// The networks of a run: one for each input size of training, and of evaluation. They never run at the same time,
/// so they share one arena.
class RunNetworks {
 public:
  /// Plans all networks; `trained` and `averaged` need no memory until bind(). Both outlive this object.
  /// `statistics` sums batch-norm statistics over the ranks; nullptr: each rank uses its own. Without
  /// `evaluates` there is no network for evaluations.
  RunNetworks(const RunConfig& config, const Model& model, Backend& backend, int micro_batch,
              const Parameters& trained, const Parameters& averaged, StatisticsExchange* statistics = nullptr,
              bool evaluates = true);

  size_t arena_bytes() const;
  void bind(void* arena) { arena_ = arena; }
  void drop_recordings();

  /// The network for this input size, bound to the arena.
  Network& training(const InputSize& size) { return use(*training_.at(size)); }
  /// The network for evaluations at this size: the run's, or one of a growing input's smaller ones.
  Network& evaluation(const InputSize& size) { return use(*evaluation_.at(size)); }

  /// The memory of the teacher (RunConfig::distillation): its values come first, its networks' arena last.
  size_t teacher_bytes() const;
  void bind_teacher(void* memory);
  /// The teacher infers the batch that was set in `student`, a network of training. Does nothing without a teacher.
  void teach(const Network& student);

  /// The largest plan of training, and of evaluation.
  const NetworkMemory& training_memory() const { return largest(training_); }
  const NetworkMemory& evaluation_memory() const { return largest(evaluation_); }

 private:
  using Networks = std::map<InputSize, std::unique_ptr<Network>>;
  /// A teacher's network, and what the student's of this size loses against it.
  struct Teacher {
    std::unique_ptr<Network> network;
    std::unique_ptr<DistillationLoss> loss;
  };

  void add_teacher(const RunConfig& config, Backend& backend, const NetworkSetup& student);
  static const NetworkMemory& largest(const Networks& networks);
  Network& use(Network& network);

  std::shared_ptr<const Distillation> distillation_;
  Parameters teacher_parameters_;
  std::map<InputSize, Teacher> teachers_;  // the networks of training refer to them
  Networks training_, evaluation_;
  void *arena_ = nullptr, *teacher_arena_ = nullptr;
  Network *bound_ = nullptr, *bound_teacher_ = nullptr;
};

/// Device memory of a training run, in bytes.
struct RunMemory {
  /// Values, running statistics included.
  size_t parameters = 0;
  size_t gradients = 0;
  size_t optimizer = 0;
  /// EMA of the parameters.
  size_t average = 0;
  /// Copy of the running statistics, for a step that must be undone.
  size_t statistics = 0;
  /// Step state and workspace (OptimizerStep::control_bytes()).
  size_t control = 0;
  /// The largest of the networks' plans.
  size_t arena = 0;
  /// Values and networks of the teacher.
  size_t teacher = 0;
  /// Memory that decoding JPEG files takes.
  size_t decoder = 0;
  size_t peak() const {
    return parameters + gradients + optimizer + average + statistics + control + arena + teacher + decoder;
  }
};

RunMemory plan_run_memory(const RunConfig& config, const ParameterLayout& layout, size_t arena_bytes,
                          size_t teacher_bytes = 0, size_t decoder_bytes = 0);
size_t decoder_bytes(const RunConfig& config, const Backend& backend);

/// The model whose parameters a run trains: with a teacher, the run's with its adapters.
const Model& trained_model(const RunConfig& config, const Model& model);

/// The plan of a run with this micro-batch, and its training and evaluation networks' shares.
struct PlannedRun {
  RunMemory memory;
  NetworkMemory training, evaluation;
};
PlannedRun plan_run(const RunConfig& config, const Model& model, Backend& backend, int micro_batch);

/// The first layer of trained_model(), or -1, whose batch-norm would see one value of each channel if a single image went
/// through the smallest network of the run.
int layer_of_one_value(const RunConfig& config, const Model& model);

/// The fewest images that may go through the network at once: 2 where there is such a layer and each rank has statistics
/// of its own.
int least_micro_batch(const RunConfig& config, const Model& model, int ranks);

/// The most images of the largest input whose pixels can be counted in 32 bits, as a network must (layers/network_plan.cpp).
int most_countable_images(const RunConfig& config);

/// The largest divisor of `batch`, a rank's part of train.batch, whose plan fits into `budget` bytes, and not less than
/// least_micro_batch(). Throws InputError, stating what the smallest needs, when none does.
int choose_micro_batch(const RunConfig& config, const Model& model, Backend& backend, int batch,
                       size_t budget, int ranks = 1);

/// The largest micro-batch, not only divisors, that fits into `budget` bytes; 0 when not even least_micro_batch() does.
int largest_batch(const RunConfig& config, const Model& model, Backend& backend, size_t budget);

/// Reads a number of bytes: "8GiB", "512 MB", "1000000". Throws InputError for anything else.
size_t parse_bytes(const std::string& text);

}  // namespace brightnet
