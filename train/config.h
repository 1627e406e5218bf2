// The whole of a run in one YAML: what is trained, on what, how, and how it is judged. Every value has a
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
#include "layers/model.h"
#include "train/nms.h"

namespace brightnet {

/// The `train:` section.
struct TrainOptions {
  int size = 416;  ///< side of the square input, in pixels
  std::vector<int>
      sizes;            ///< multi-scale: one of these is drawn every `size_every` steps; empty: `size` alone
  int size_every = 10;  ///< optimizer steps between changes of size
  int batch = 64;       ///< images of one optimizer step, over all ranks
  int micro_batch = 0;  ///< images of one pass through the network; 0: the largest divisor of batch that fits
  float memory_fraction = 0;  ///< of the device's free memory that `micro_batch: auto` may plan for; 0: 0.6
                              ///< of a machine's, 0.9 of a GPU's
  std::string recompute =
      "none";                  ///< none | activations: make these again in the backward pass, not keep them
  bool graph = true;           ///< GPU: record each step once and queue it as a whole
  bool deterministic = false;  ///< GPU: only convolutions whose result is the same in every run
  int epochs = 100;
  int iterations = 0;  ///< optimizer steps; 0: as many as the epochs make
  float minutes = 0;   ///< limit of the run's time; fewer epochs are planned when they would take longer
  std::string precision = "fp32";
  uint64_t seed = 0;
  bool sync_bn = false;  ///< batch-norm statistics over all ranks
  int patience = 0;      ///< evaluations without a better score before the run stops; 0: never
  std::string weights;   ///< safetensors or darknet's .weights to start from; empty: from scratch
  bool weights_partial =
      false;                ///< of a .weights file, take what makes sense (train/formats/darknet_weights.h)
  std::string weights_cfg;  ///< the .cfg that a .weights file is of, when the model is another
  std::vector<std::string>
      freeze;                 ///< layers or blocks that are not trained, or one number: the first K layers
  float pretrained_rate = 1;  ///< factor on the learning rate of layers that came with `weights`
  std::vector<std::string> fresh;  ///< layers that did not; a run adds what it finds
  float save_every = 30;     ///< seconds: a state is saved when the last one is this old, in an epoch too
  float log_every = 10;      ///< seconds between progress lines where there is no terminal
  float bucket_mb = 8;       ///< MiB of gradients that the ranks sum at a time
  bool overlap = true;       ///< sums begin during the backward pass; the result has the same bits either way
  float comm_timeout = 120;  ///< seconds that a rank waits for others before the run ends
  void fields(Fields& f);
};

/// The `optimizer:` section. AdamW is the default because it reached far more than SGD on small data sets in
/// few epochs (docs/accuracy.md).
struct OptimizerOptions {
  std::string kind = "adamw";  ///< adamw | sgd
  float rate = 0.002f;         ///< the schedule's peak; sgd: 0.01 if not given
  float momentum = 0.9f;       ///< sgd
  bool nesterov = false;       ///< sgd
  float decay = 0.05f;  ///< of convolution weights; batch-norm and biases have none; sgd: 0.0005 if not given
  std::string decay_kind =
      "l2";  ///< sgd: l2 (part of the gradient, as in darknet) | decoupled; adamw is decoupled
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;  ///< adamw
  float clip = 10.0f;                                   ///< largest norm of the whole gradient; 0: any
  int max_skips = 20;    ///< steps in a row whose gradient is not finite before the run stops
  float loss_scale = 0;  ///< the loss scale to start with, in any precision; 0: 65536 in fp16, none else
  int loss_scale_growth = 2000;  ///< steps in a row without overflow after which it doubles
  void fields(Fields& f);
  /// The defaults of stochastic gradient descent: a rate and a decay mean nothing to another optimizer.
  static OptimizerOptions sgd();
};

/// The `schedule:` section: how the learning rate goes over the run.
struct ScheduleOptions {
  std::string kind = "cosine";  ///< cosine | steps | linear | constant
  std::string unit = "epochs";  ///< epochs | iterations: of warmup and steps
  float warmup = 3.0f;          ///< length of the burn-in
  float power = 4.0f;           ///< of the burn-in: rate · (t / warmup)^power
  float final = 0.01f;          ///< cosine and linear end at this fraction of the rate
  std::vector<float> steps;     ///< where the rate falls; empty: at 80 % and 90 % of the run
  std::vector<float> scales;    ///< what it is multiplied by there; empty: 0.1 each
  void fields(Fields& f);
};

/// The `ema:` section: the averaged weights that are evaluated and handed out.
struct EmaOptions {
  float decay = 0.9998f;  ///< 0: no average
  float ramp = 2000.0f;   ///< iterations: decay(t) = decay · (1 − exp(−t / ramp))
  void fields(Fields& f);
};

/// The `evaluate:` section.
struct EvaluateOptions {
  int every = 1;               ///< epochs between evaluations; the last epoch is always evaluated
  int start = 1;               ///< first epoch (from 1) that is evaluated
  int batch = 0;               ///< images at a time; 0: the micro-batch
  int size = 0;                ///< side of the input; 0: train.size
  std::string best_by = "AP";  ///< AP | AP50: what makes weights the best
  NmsOptions nms{.kind = "model"};
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
  std::shared_ptr<const YamlValue> source;  ///< what all this was read from, for messages; may be none

  void fields(Fields& f);
  /// "file:line" or the option that "train.size" was set by; the file when it was not.
  std::string where(const std::string& key) const;

  Precision precision() const { return parse_precision(train.precision); }
  /// All input sizes that training uses, without repetition.
  std::vector<int> input_sizes() const;
  int evaluation_size() const { return evaluate.size > 0 ? evaluate.size : train.size; }
};

/// Reads a run's YAML with the command line's assignments (YamlDocument::set) laid over it. Paths that are
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

/// The model with heads for this many classes and the run's head options. InputError when the run names none,
/// or its input sizes are no multiples of the model's stride.
Model load_model(const RunConfig& config, int classes);

}  // namespace brightnet
