// Weights for inference in 8 bits.
#pragma once

#include <string>
#include <vector>

#include "brightnet/answer.h"
#include "brightnet/public.h"
#include "brightnet/weights.h"

namespace brightnet {

struct QuantizationOptions {
  /// A data set as in dataset.h, whose images of `train` calibrate, and on whose `val` AP is measured. Without `max_loss` also a
  /// folder of images without labels, of which all calibrate, its subfolders' too.
  std::string data = {};
  std::vector<std::string> settings = {};  ///< settings of a configuration: "data.fraction=0.5"
  int images = 128;                        ///< images that calibrate, evenly spread over the data
  /// AP points, hundredths of AP, that may be lost; layers stay in floating point until no more are. Negative: AP is not
  /// measured, and every convolution is quantised that does not predict.
  double max_loss = -1;
  /// Zero points of 0 in signed 8 bits: what TensorRT takes. Coarser by half for activations that are mostly positive.
  bool symmetric = false;
  bool equalize = true, correct_bias = true;  ///< steps of the calibration, docs/deploy.md
};

struct QuantizedWeights {
  Weights weights;     ///< without batch-norm; usable in every precision, int8 included
  Answer report = {};  ///< the ranges and, with `max_loss`, what each layer costs and brings
};

/// Post-training quantisation on the CPU (docs/deploy.md#int8). Logs its progress. Throws InputError for fewer images than one,
/// for weights that are quantised already, when the data cannot be read and where `max_loss` is less than what is lost with all
/// layers in floating point, DeviceError where AP is to be measured and the CPU
/// has no instructions for it.
BRIGHTNET_PUBLIC QuantizedWeights quantize(const Weights& weights, const QuantizationOptions& options);
/// The same for a network whose input has this size in pixels, as the weights that are made then record it; 0: as recorded in
/// `weights`. Values and AP are those of that size. Throws InputError also for a size that does not fit the network.
BRIGHTNET_PUBLIC QuantizedWeights quantize(const Weights& weights, const QuantizationOptions& options,
                                           int height, int width);

}  // namespace brightnet
