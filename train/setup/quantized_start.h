// What quantisation-aware fine-tuning (train.quantize) starts from.
#pragma once

#include "train/setup/preparation.h"

namespace brightnet {

/// Throws InputError for a new run's configuration that has train.quantize and cannot: without trained weights, from
/// weights that are quantised already, or in 16 bits.
void refuse_unquantizable(const RunConfig& config);

/// Gives the run the model without batch-norm and with its scales, and the values that go with it: those that calibration
/// finds for its weights on its training images or, resuming, those of the saved state. Throws InputError for weights
/// that lack a layer, and for a state without scales.
void begin_quantized(Preparation& run, bool speaks);

}  // namespace brightnet
