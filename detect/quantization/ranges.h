// Which range of a tensor's values is quantised: rounding and saturation are traded off by one of four rules.
#pragma once

#include <cstdint>
#include <string_view>

#include "detect/quantization/histogram.h"
#include "kernels/math/activation.h"
#include "kernels/math/quantization.h"

namespace brightnet {

enum class CalibrationMethod : uint8_t {
  min_max,     ///< all values
  percentile,  ///< all but the least and the greatest 0.01 %
  entropy,  ///< the least Kullback-Leibler divergence of the rounded from the given distribution (Migacz 2017)
  squared_error,  ///< the least mean squared error
};

constexpr std::string_view enum_name(CalibrationMethod method) {
  switch (method) {
    case CalibrationMethod::min_max: return "min-max";
    case CalibrationMethod::percentile: return "percentile";
    case CalibrationMethod::entropy: return "entropy";
    case CalibrationMethod::squared_error: return "squared error";
  }
  return {};
}

/// The range of these values and 0. `symmetric`: the zero point is 128, which is signed 8 bits without one.
QuantizedRange range_between(float least, float most, bool symmetric);

QuantizedRange calibrated_range(const Histogram& values, CalibrationMethod method, bool symmetric);

/// Returns the range of what `activation` is applied to: its greatest value and, of the possible least ones, that with the
/// least mean squared error after the activation. So little is spent on negative values, which most activations nearly remove.
QuantizedRange range_before(const Histogram& values, Activation activation, bool symmetric);

}  // namespace brightnet
