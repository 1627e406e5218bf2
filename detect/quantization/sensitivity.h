// What each layer's quantisation costs and brings, and which layers stay in floating point for it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "detect/quantization/calibrate.h"

namespace brightnet {

struct LayerSensitivity {
  std::string name;
  double AP_lost = 0;        ///< loss when this layer alone is quantised, in AP points: hundredths of AP
  double images_gained = 0;  ///< images per second gained when it alone is quantised, one image at a time
  bool stays_float = false;
};

struct Sensitivity {
  std::vector<LayerSensitivity> layers;                       ///< the quantised convolutions
  double AP_float = 0, AP_quantized = 0;                      ///< in fp32; quantised but for what stays float
  double images_per_s_float = 0, images_per_s_quantized = 0;  ///< the network alone, one image at a time
};

/// The AP of a network computed by this quantisation; empty: in fp32.
using EvaluateAP = std::function<double(const Quantization&)>;

/// Puts layers back to floating point until the AP is at most `max_loss` points below that of the network in fp32: those first
/// that lose the most AP for the time that they gain, each time measuring the whole. Losses do not add up: where none is left
/// that loses anything alone, those follow without which the whole loses the least. Changes the calibration's network. Throws
/// InputError where even with all layers in floating point more is lost.
Sensitivity keep_sensitive_layers(Calibration& calibration, double max_loss, const CalibrationInputs& inputs,
                                  const EvaluateAP& evaluate);

}  // namespace brightnet
