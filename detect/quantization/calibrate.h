// Post-training quantisation: from a trained network and some of its training images to weights that hold the scales of
// its 8-bit form.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "detect/quantization/ranges.h"
#include "formats/weights.h"
#include "layers/network.h"

namespace brightnet {

/// Images as inputs of a network, in memory, one a batch: each is used many times.
class CalibrationInputs {
 public:
  /// `count` images of the data set, evenly spread over it. Throws InputError for one that cannot be read.
  CalibrationInputs(const Dataset& images, int count, const InputFit& fit, int workers);

  int count() const { return static_cast<int>(inputs_.size()); }
  /// The values of input number `input` as the network sees them, from 0 to 1.
  std::vector<float> values(int input) const;
  /// Runs the network on input number `input`.
  void infer(Network& network, int input) const;

 private:
  bool has_values_;  ///< whether the inputs are floats (darknet's resize) in place of 8-bit pixels
  std::vector<std::vector<std::byte>> inputs_;
};

struct CalibrationOptions {
  /// The number of inputs by which the methods are compared.
  int compared = 8;
  /// Zero points of 128, for runtimes that know signed values without one (TensorRT).
  bool symmetric = false;
  bool equalize = true, correct_bias = true;
  /// Called with what was done of all; may be empty.
  std::function<void(int done, int all)> progress = {};
};

/// How a range was chosen.
struct RangeChoice {
  std::vector<std::string> layers;  ///< convolutions whose outputs have it
  CalibrationMethod method = CalibrationMethod::min_max;
  QuantizedRange range;
  double error = 0, error_of_min_max = 0;  ///< change of the heads' logits, as calibrate() measures it
};

struct Calibration {
  TrainedModel quantized;
  std::vector<RangeChoice> ranges;
  int equalized_pairs = 0;
  /// For each layer the biases before they were corrected for its rounding; empty for those that are not corrected.
  std::vector<std::vector<float>> uncorrected_biases;
};

/// The calibrated network with this part of its quantisation: what is left in floating point is not corrected.
TrainedModel with_part(const Calibration& calibration, Quantization part);

/// Folds batch-norm, equalises, and quantises every convolution but those that predict and those of `precision: fp32`. Of
/// the methods that one is taken for a range whose rounding, alone in a network of fp32, changes the heads' logits least: the
/// mean over the predictions of the squared change, weighted by the objectness that fp32 gives. A method judges a range by its
/// own values and does not see what the boxes are made of; this does, for the predictions that are detections. Then the
/// biases are corrected.
Calibration calibrate(const TrainedModel& trained, const CalibrationInputs& inputs,
                      const CalibrationOptions& options);

}  // namespace brightnet
