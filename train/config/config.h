// The whole of a run in one YAML: what is trained, on what, how, and how it is evaluated. Every value has a
// default, and `brightnet config` shows them all.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/config.h"
#include "core/dtype.h"
#include "data/augment/options.h"
#include "data/formats/read.h"
#include "data/loader/loader.h"
#include "layers/model/model.h"
#include "train/evaluate/evaluate.h"
#include "train/optimizer/ema.h"
#include "train/optimizer/optimizer.h"
#include "train/optimizer/schedule.h"

namespace brightnet {

struct DarknetImport;

/// What the backward pass makes again instead of keeping it: less memory, slower, the same numbers.
enum class Recompute : uint8_t { none, activations };
constexpr std::string_view enum_name(Recompute recompute) {
  switch (recompute) {
    case Recompute::none: return "none";
    case Recompute::activations: return "activations";
  }
  return {};
}

/// The `train:` section.
struct TrainOptions {
  /// Side of the square input, in pixels.
  int size = 416;
  /// Multi-scale: one of these is drawn every `size_every` steps; empty: `size` alone.
  std::vector<int> sizes;
  /// Optimizer steps between changes of size.
  int size_every = 10;
  /// Images of one optimizer step, over all ranks.
  int batch = 64;
  /// Images of one pass through the network; 0: the largest divisor of batch that fits.
  int micro_batch = 0;
  /// Of the device's free memory that `micro_batch: auto` may plan for; 0: 0.6 of a machine's, 0.9 of
  /// a GPU's.
  float memory_fraction = 0;
  Recompute recompute = Recompute::none;
  /// GPU: record each step once and queue it as a whole.
  bool graph = true;
  /// GPU: only convolutions whose result is the same in every run.
  bool deterministic = false;
  int epochs = 100;
  /// Optimizer steps; 0: as many as the epochs make.
  int iterations = 0;
  /// Limit of the run's time; fewer epochs are planned when they would take longer.
  float minutes = 0;
  Precision precision = Precision::fp32;
  uint64_t seed = 0;
  /// Batch-norm statistics over all ranks.
  bool sync_bn = false;
  /// Evaluations without a better score before the run stops; 0: never.
  int patience = 0;
  /// safetensors or darknet's .weights to start from; empty: from scratch.
  std::string weights;
  /// Of a .weights file, take what makes sense (train/formats/darknet/weights.h).
  bool weights_partial = false;
  /// The .cfg that a .weights file is of, when the model is another.
  std::string weights_cfg;
  /// Layers or blocks that are not trained, or one number: the first K layers.
  std::vector<std::string> freeze;
  /// Factor on the learning rate of layers that came with `weights`.
  float pretrained_rate = 1;
  /// Layers that did not; a run adds what it finds.
  std::vector<std::string> fresh;
  /// Seconds: a state is saved when the last one is this old, within an epoch too.
  float save_every = 30;
  /// Seconds between progress lines where there is no terminal.
  float log_every = 10;
  /// MiB of gradients that the ranks sum at a time.
  float bucket_mb = 8;
  /// Sums begin during the backward pass; the result has the same bits either way.
  bool overlap = true;
  /// Seconds that a rank waits for others before the run ends.
  float comm_timeout = 120;
  void fields(Fields& f);
};

/// A run.
struct RunConfig {
  std::string name;   ///< of the run's folder; empty: the YAML's own
  std::string model;  ///< path of the model's YAML
  YamlValue head;     ///< laid over the model's `head:`
  DataOptions data;
  TrainOptions train;
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  EmaOptions ema;
  AugmentOptions augment;
  LoaderOptions loader;
  EvaluateOptions evaluate;
  /// What all this was read from, for messages; may be none.
  std::shared_ptr<const YamlValue> source;
  /// The import of the darknet .cfg that `model` names; nullptr when it names a model's YAML.
  std::shared_ptr<const DarknetImport> imported;

  void fields(Fields& f);
  /// "file:line" or the option that "train.size" was set by; the file when it was not.
  std::string where(const std::string& key) const;

  /// All input sizes that training uses, without repetition.
  std::vector<int> input_sizes() const;
  int evaluation_size() const { return evaluate.size > 0 ? evaluate.size : train.size; }
};

/// Reads a run's YAML with the command line's overrides (YamlDocument::set). Paths that are
/// not absolute are looked for beside the YAML first and in the current directory second (the other way round
/// for those set on the command line), and are absolute in the result. Throws InputError for what does not
/// make sense. Without `needs_data`, data.root may be a place that does not exist yet.
RunConfig load_run_config(const std::filesystem::path& file, const std::vector<std::string>& assignments = {},
                          bool needs_data = true);

/// A rank's part of train.batch.
int batch_of_rank(const TrainOptions& train, int ranks);
/// Throws InputError when `ranks` cannot share the batch equally, or (unless the run is an old one that had
/// other ranks) a rank's part is no multiple of train.micro_batch.
void check_batch(const TrainOptions& train, int ranks, bool resuming = false);

/// The values that differ between two runs, as "section.key: a → b".
struct ConfigDifference {
  std::string key, before, after;
};
std::vector<ConfigDifference> compare(const RunConfig& before, const RunConfig& after);

/// The paths of all values that a run has, "train.batch", in the order they are printed in.
std::vector<std::string> config_keys();

}  // namespace brightnet
