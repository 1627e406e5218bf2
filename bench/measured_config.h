// The run whose step is measured (private to bench/).
#pragma once

#include "train/config/config.h"

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

}  // namespace brightnet
