// Weights for other classes know where objects are: what their prediction layers say of boxes is kept, while
// objectness and classes start fresh.
#pragma once

#include <string>
#include <vector>

#include "layers/model/model.h"
#include "layers/parameters.h"

namespace brightnet {

/// A prediction layer as a weights file has it, for classes of its own.
struct PretrainedPrediction {
  std::string layer;
  int classes = 0;
  std::vector<Anchor> anchors;      ///< anchors that the layer was trained with
  float scale_xy = 1;               ///< scale_xy that the layer was trained with
  std::vector<float> weight, bias;  ///< weights (OHWI) and biases of all its channels
};

/// Overwrites the box channels of the model's prediction layers in `values` by those of `predictions`, translated to
/// the anchors and scale_xy of `model`; layers with another number of anchors or inputs keep theirs. Returns the names
/// of the layers that were overwritten.
///
/// The centre is s · σ(t) − (s − 1) / 2, so t is multiplied by the ratio of the two s: the same slope in the middle of
/// a cell. A side is anchor · exp(t), or anchor · (2σ(t))² which is the same to first order, so ln(trained anchor /
/// anchor) is added to t. Heads of the same anchors and keys predict the same boxes exactly.
std::vector<std::string> keep_boxes(const std::vector<PretrainedPrediction>& predictions, const Model& model,
                                    const ParameterLayout& layout, std::vector<float>& values);

}  // namespace brightnet
