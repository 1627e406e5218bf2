// The run whose step is measured (private to bench/).
#pragma once

#include "brightnet/benchmark.h"
#include "core/option_ranges.h"
#include "train/config/config.h"
#include "train/config/contradictions.h"
#include "train/setup/automatic_facts.h"
#include "train/setup/model.h"

namespace brightnet {

/// `config` on one device, with a batch that is one micro-batch of this size and type.
inline RunConfig measured_config(RunConfig config, int batch, const InputSize& size, Precision precision) {
  config.train.batch = config.train.micro_batch = batch;
  config.train.size = size;
  config.train.sizes.clear();
  config.train.precision = precision;
  config.train.sync_bn = false;
  return config;
}

inline void check_ranges(const BenchmarkOptions& options) {
  const OptionRanges ranges("BenchmarkOptions");
  ranges.at_least(0, "batch", options.batch);
  ranges.at_least(0, "classes", options.classes);
  ranges.at_least(0, "workers", options.workers);
  ranges.above_zero("seconds", options.seconds);
  ranges.input_size(options.height, options.width);
}

/// Throws InputError where the settings say otherwise than an option.
inline void refuse_other_settings(const BenchmarkOptions& options) {
  std::vector<std::string> all = options.settings;
  if (options.batch > 0) all.push_back("--batch:train.batch=" + std::to_string(options.batch));
  if (options.height > 0)
    all.push_back("--size:train.size=" + InputSize(options.height, options.width).text());
  if (options.recompute) all.emplace_back("--recompute:train.recompute=activations");
  refuse_contradictions(all);
}

/// The model that the options name, and its run with their settings. `batch` is taken where it has none; what else is left to
/// be chosen is chosen for this device.
inline NamedModel read_measured_model(const BenchmarkOptions& options, int batch,
                                      const FastPrecision& device) {
  refuse_other_settings(options);
  NamedModel named = read_model(options.model, options.settings, options.classes);
  TrainOptions& train = named.config.train;
  if (!train.batch.has_value()) train.batch = batch;
  if (options.height > 0) train.size = InputSize(options.height, options.width);  // not `auto`
  if (options.recompute) train.recompute = Recompute::activations;
  choose_for_planning(named.config, named.model, device);
  return named;
}

}  // namespace brightnet
