#include "train/setup/request.h"

#include "data/formats/classes.h"
#include "formats/download/fetch.h"
#include "formats/foreign_weights.h"
#include "train/config/contradictions.h"
#include "train/setup/data_sets.h"
#include "train/setup/model.h"
#include "train/setup/named_run.h"
#include "train/setup/quantized_start.h"
#include "train/setup/teacher.h"

namespace brightnet {
namespace {

/// The number of classes, where the configuration tells it without reading the data; otherwise 0.
int known_class_count(const RunConfig& config) {
  if (config.data.single_class) return 1;
  if (const auto classes = known_classes(config.data)) return static_cast<int>(classes->size());
  const HeadClassWeights* weights = value_of(config.head.class_weights);
  return weights ? static_cast<int>(weights->list.size()) : 0;
}

bool has_data(const RunConfig& config) {
  std::error_code ignored;
  return !config.data.train.empty() && std::filesystem::is_directory(config.data.root, ignored);
}

/// A model whose prediction layers have their filters as numbers fits its own classes, or those of the data.
void check_model(const RunConfig& config) {
  const int classes = known_class_count(config);
  try {
    load_model(config, classes);
  } catch (const InputError&) {
    if (classes > 0 || !has_data(config)) throw;
    load_model(config, static_cast<int>(class_names(config).size()));
  }
}

/// What says how weights are read and was given for this run alone, where it has none to read. A configuration's file may have
/// it for the weights that are named at times.
void require_weights(const RunConfig& config) {
  const TrainOptions& train = config.train;
  if (!train.weights.empty()) return;
  const std::pair<const char*, bool> given[] = {{"train.weights_cfg", !train.weights_cfg.empty()},
                                                {"train.weights_partial", train.weights_partial}};
  for (const auto& [key, is_given] : given) {
    const std::string place = is_given ? config.where(key) : "";
    if (!place.starts_with("--")) continue;
    throw InputError(
        "'" + std::string(key) + "' says how weights are read, and there are none", place,
        "Name them, --weights FILE, or leave it out: without weights a run starts from random numbers.");
  }
}

}  // namespace

RunConfig requested_config(const RunRequest& request) {
  Overrides overrides = request.overrides;
  auto& assignments = overrides.assignments;
  if (!request.weights.empty())
    assignments.push_back("--weights:train.weights=" + yaml_quoted(request.weights));
  if (!request.weights_cfg.empty())
    assignments.push_back("--weights-cfg:train.weights_cfg=" + yaml_quoted(request.weights_cfg));
  if (request.weights_partial) assignments.emplace_back("--weights-partial:train.weights_partial=true");
  refuse_contradictions(assignments);
  RunConfig config = load_run_config(request.config, overrides);
  require_model(config);  // before the data are read, which may take long
  require_weights(config);
  config.train.weights = fetch_if_named(config.train.weights);
  refuse_foreign_weights(config.train.weights);
  refuse_unquantizable(config);
  check_teacher(config);
  return config;
}

void check_config(const RunConfig& config) {
  require_model(config);
  check_model(config);
  check_batch(config.train, 1);
  require_weights(config);
  refuse_foreign_weights(config.train.weights);
  refuse_unquantizable(config);
  check_teacher(config);
  if (!has_data(config)) return;
  check_place(config.data, Split::train);
  if (!config.data.fold || !config.data.val.empty()) check_place(config.data, Split::val);
}

ResolvedConfiguration resolve_configuration(const Configuration& configuration) {
  const RunConfig config = NamedRun(configuration).load(false);
  check_config(config);
  ResolvedConfiguration resolved{.yaml = print_config(config)};
  if (config.data.train.empty()) {
    resolved.remarks = {"No training images are named (data.train): `brightnet train` needs them."};
  } else if (std::error_code ignored; !std::filesystem::is_directory(config.data.root, ignored)) {
    resolved.remarks = {config.data.root + " is not there yet: `brightnet train` needs it."};
  }
  return resolved;
}

}  // namespace brightnet
