// The run whose step is measured (private to bench/).
#pragma once

#include "brightnet/benchmark.h"
#include "train/config/config.h"
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

/// The model that the options name, and its run with their settings. `batch` is taken where it has none; what else is left to
/// be chosen is chosen for this device.
inline NamedModel read_measured_model(const BenchmarkOptions& options, int batch,
                                      const FastPrecision& device) {
  NamedModel named = read_model(options.model, options.settings, options.classes);
  TrainOptions& train = named.config.train;
  if (!train.batch.has_value()) train.batch = batch;
  if (options.height > 0) train.size = InputSize(options.height, options.width);  // not `auto`
  if (options.recompute) train.recompute = Recompute::activations;
  choose_for_planning(named.config, named.model, device);
  return named;
}

}  // namespace brightnet
