// The configuration of a run, one YAML file: model, data, training and evaluation. Every value has a default;
// `brightnet config` prints them all.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "brightnet/configuration.h"
#include "core/auto.h"
#include "core/config.h"
#include "core/dtype.h"
#include "core/input_size.h"
#include "data/augment/options.h"
#include "data/formats/read.h"
#include "data/loader/loader.h"
#include "layers/model/model.h"
#include "train/config/evaluate_options.h"
#include "train/optimizer/ema.h"
#include "train/optimizer/optimizer.h"
#include "train/optimizer/schedule.h"

namespace brightnet {

struct DarknetImport;
struct Distillation;

/// What the backward pass recomputes instead of storing it: less memory, slower, bit-identical.
enum class Recompute : uint8_t { none, activations };
constexpr std::string_view enum_name(Recompute recompute) {
  switch (recompute) {
    case Recompute::none: return "none";
    case Recompute::activations: return "activations";
  }
  return {};
}

constexpr bool recomputes(Recompute recompute) {
  switch (recompute) {
    case Recompute::none: return false;
    case Recompute::activations: return true;
  }
  return false;
}

/// The `train:` section; fields() documents every key. Automatic values are chosen when the data and the
/// device are known (train/setup/automatic.h); until then, using them is an error.
struct TrainOptions {
  Auto<InputSize> size = 416;    ///< input size; automatic: chosen from the shapes of the training images
  std::vector<InputSize> sizes;  ///< multi-scale: one is drawn every `size_every` steps; empty: `size` alone
  /// First part of the run, a fraction, in which the input grows through `sizes`; 0: they are drawn.
  Auto<float> grow;
  int size_every = 10;
  /// First part of the run, a fraction, in which `simota` takes all its candidates, as `neighbours` does.
  Auto<float> static_assignment;
  Auto<int> batch;            ///< images per optimizer step, over all ranks
  Auto<int> micro_batch;      ///< images per pass; automatic: the largest divisor of a rank's batch that fits
  float memory_fraction = 0;  ///< share of free memory for `micro_batch: auto`; 0: 0.6 on a CPU, 0.9 on a GPU
  Recompute recompute = Recompute::none;
  bool graph = true;  ///< GPU: capture each step once and replay it
  bool deterministic = false;
  Auto<int> epochs;    ///< passes over the training split; automatic with `minutes`: as many as fit
  int iterations = 0;  ///< optimizer steps; 0: determined by `epochs`
  float minutes = 0;   ///< time limit; as many steps are made as fit, at most those of `epochs`
  Auto<Precision> precision;
  uint64_t seed = 0;
  bool sync_bn = false;  ///< batch-norm statistics over all ranks
  /// Quantisation-aware fine-tuning of `weights`: by the scales that calibration finds for them, in fp32.
  bool quantize = false;
  Auto<int> patience;  ///< evaluations without a better score before the run stops; 0: never
  int average = 3;     ///< number of the best evaluations whose weights are averaged; 0: none
  /// safetensors or darknet's .weights to start from; empty: from scratch. The name of published weights becomes their
  /// path, which may have to be fetched (formats/download/fetch.h).
  std::string weights;
  bool weights_partial = false;  ///< load only the leading layers of a .weights file that match the model's
  std::string weights_cfg;       ///< the .cfg of a .weights file that belongs to another model
  /// A trained network to learn from, as `weights` but of any model with the run's classes; empty: none.
  std::string teacher;
  std::string teacher_cfg;     ///< the .cfg of a teacher that is a .weights file
  std::string teacher_sha256;  ///< hash of the teacher's file; the run adds it, and is resumed with no other
  float distill = 1;           ///< weight of the loss of the predictions against the teacher's
  float distill_features = 1;  ///< weight of the loss of the features that the predictions are made from
  /// The layers or blocks that are not trained, or one number: the first K layers.
  Auto<std::vector<std::string>> freeze;
  float pretrained_rate = 1;  ///< factor on the learning rate of layers loaded from `weights`
  /// First part of the run over which these layers' learning rate rises from 0; a fraction, 0: at once.
  float pretrained_warmup = 0;
  /// Layers or blocks that `weights` does not contain; the run adds the layers it finds.
  std::vector<std::string> fresh;
  float save_every = 30;     ///< seconds between saved states, within an epoch too
  int save_epochs = 0;       ///< epochs between weights that are kept besides the best and last; 0: none are
  float log_every = 10;      ///< seconds between progress lines without a terminal
  float bucket_mb = 8;       ///< MiB of gradients per all-reduce
  bool overlap = true;       ///< all-reduce during the backward pass; bit-identical either way
  float comm_timeout = 120;  ///< seconds that a rank waits for others before the run ends
  int restarts = 0;          ///< times that the run is started again after its processes died; 0: never
  void fields(Fields& f);
  /// The given ones of the keys that name files, with their absolute paths.
  std::map<std::string, std::string> files() const;
};

/// The `input:` section: overrides the model's own.
struct InputOptions {
  int channels = 0;  ///< 3: RGB; 1: grey; 0: the model's
  void fields(Fields& f);
};

/// All settings of a run.
struct RunConfig {
  /// The name of the run's folder; empty: the name of the YAML, or else of the data's folder, with "-foldK" for a fold.
  std::string name;
  std::string model;  ///< path of the model's YAML; in a YAML also the name of one (train/config/models.h)
  HeadOptions head;   ///< overrides the model's `head:` and its yolo layers' own keys
  InputOptions input;
  DataOptions data;
  TrainOptions train;
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  EmaOptions ema;
  AugmentOptions augment;
  LoaderOptions loader;
  EvaluateOptions evaluate;
  std::shared_ptr<const YamlValue> source;  ///< the document it was read from, for messages; may be null
  std::vector<std::string> of_data_option;  ///< the keys of `data:` that --data sets, for messages
  /// The import of the darknet .cfg that `model` names; nullptr when it names a model's YAML.
  std::shared_ptr<const DarknetImport> imported;
  /// The network of train.teacher for the run's model, once it is opened (train/setup/teacher.h).
  std::shared_ptr<const Distillation> distillation;

  void fields(Fields& f);
  /// "file:line" or the option that "train.size" was set by; the file when it was not.
  std::string where(const std::string& key) const;
  /// Whether the file or an option says a value for this key.
  bool says(const std::string& key) const;

  /// All input sizes that training uses, without repetition.
  std::vector<InputSize> input_sizes() const;
  InputSize evaluation_size() const { return evaluate.size.given() ? evaluate.size : train.size.value(); }
};

/// A size of train.sizes beside a train.size of `size`: a square beside a size that is none is a height, whose width
/// has its ratio. Nothing where `other` has another ratio of width and height.
std::optional<InputSize> with_ratio_of(const InputSize& size, const InputSize& other);

/// Gives train.sizes that are heights the ratio of a train.size that is no square. Throws InputError for sizes of
/// another ratio. Does nothing while train.size is automatic.
void keep_ratio(TrainOptions& train, const std::string& where);

/// The settings of the command line that override a configuration.
struct Overrides {
  Overrides() = default;
  Overrides(std::vector<std::string> all) : assignments(std::move(all)) {}
  Overrides(std::initializer_list<std::string> all) : assignments(all) {}

  std::vector<std::string> assignments;  ///< the words of --set, as YamlDocument::set() takes them
  /// The data set of --data. What it says takes the place of what the configuration says; both give way to the assignments.
  std::optional<DataOptions> data;
  Fold fold;  ///< fold of a data set without validation images; applied as `data` is

  /// Whether they say anything.
  explicit operator bool() const { return !assignments.empty() || data || fold; }
};

/// Reads a run's YAML and applies the command line's overrides. Relative paths are searched next to the YAML, then in
/// the current directory (in the opposite order for those set on the command line), and are absolute in the result.
/// Throws InputError for invalid values. Without `needs_data`, data.root need not exist yet. An empty `file`: the
/// overrides are all there is.
RunConfig load_run_config(const std::filesystem::path& file, const Overrides& overrides = {},
                          bool needs_data = true);

/// A rank's share of train.batch.
int batch_of_rank(const TrainOptions& train, int ranks);
/// Throws InputError when the batch is not divisible by `ranks`, or (unless resuming a run that may have had
/// another number of ranks) a rank's share is not a multiple of train.micro_batch. An automatic batch fits.
void check_batch(const TrainOptions& train, int ranks, bool resuming = false);

/// The values that differ between two runs, as "section.key: a → b". A key that only one of them has is
/// `not_given` in the other.
constexpr const char* not_given = "(not given)";
struct ConfigDifference {
  std::string key, before, after;
};
std::vector<ConfigDifference> compare(const RunConfig& before, const RunConfig& after);

}  // namespace brightnet
