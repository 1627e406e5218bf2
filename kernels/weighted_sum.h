// The weights of a sum of maps that are learned: "fast normalized fusion" (EfficientDet, Tan et al. 2020, §3.3)
// and its softmax form, as darknet's [shortcut] has them.
#pragma once

#include <cstdint>
#include <string_view>

namespace brightnet {

/// How many weights a sum has.
enum class SumWeighting : uint8_t {
  input,   ///< one for each input (darknet's per_feature)
  channel  ///< one for each channel of each input (per_channel)
};
constexpr std::string_view enum_name(SumWeighting weighting) {
  switch (weighting) {
    case SumWeighting::input: return "input";
    case SumWeighting::channel: return "channel";
  }
  return {};
}

/// Whether all channels of an input have one weight.
constexpr bool is_shared(SumWeighting weighting) {
  switch (weighting) {
    case SumWeighting::input: return true;
    case SumWeighting::channel: return false;
  }
  return false;
}

/// How a weight w_i becomes a factor, over the inputs i.
enum class SumNormalization : uint8_t {
  none,    ///< w_i
  relu,    ///< max(w_i, 0) / (ε + Σ max(w_j, 0)), with ε = 10⁻⁴
  softmax  ///< exp(w_i) / (ε + Σ exp(w_j))
};
constexpr std::string_view enum_name(SumNormalization normalization) {
  switch (normalization) {
    case SumNormalization::none: return "none";
    case SumNormalization::relu: return "relu";
    case SumNormalization::softmax: return "softmax";
  }
  return {};
}

/// Most inputs of one weighted sum.
constexpr int most_summed_inputs = 16;

struct SumWeights {
  int inputs = 2, channels = 1;
  SumWeighting weighting = SumWeighting::input;
  SumNormalization normalization = SumNormalization::none;

  /// Parameters of one input; those of all are [inputs][row()].
  constexpr int row() const { return is_shared(weighting) ? 1 : channels; }
};

}  // namespace brightnet
