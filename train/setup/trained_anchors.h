// Prediction layers of darknet's .weights, which do not say with which anchors they were trained.
//
// They predict the logarithm t of a box's side over its anchor's (b = anchor · exp(t)), so on other anchors the same
// outputs mean other boxes: those that yolov4-tiny.weights (masks 3,4,5 and 1,2,3) have at stride 16 come out a third
// to a half as large under yolov4-tiny-custom.cfg (0,1,2). Adding ln(trained anchor / anchor) to the biases of t gives
// the same boxes exactly.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "layers/model/model.h"
#include "layers/parameters.h"

namespace brightnet {

/// A head and the layer that predicts for it.
struct PredictionHead {
  std::string layer;
  const YoloHead* head;
};

/// The heads of a model, in the order of its layers. They point into the model.
std::vector<PredictionHead> prediction_heads(const Model& model);

/// The head's anchors out of the model's.
std::vector<Anchor> own_anchors(const YoloHead& head);

/// "10x14 23x27".
std::string anchors_text(const std::vector<Anchor>& anchors);

/// The anchors of each prediction layer, in the order of the network.
struct TrainedAnchors {
  std::vector<std::vector<Anchor>> heads;  ///< anchors of each layer; empty: not known
  bool logarithmic = true;                 ///< b = anchor · exp(t); false for new_coords
};

/// The anchors of a network as its .cfg describes it.
TrainedAnchors anchors_of(const Model& network);

/// The anchors of a file that is one of the published ones (formats/download/published_weights.h); not known of any other.
TrainedAnchors anchors_of_published(const std::filesystem::path& weights);

/// Where the model's prediction layers have other anchors than `trained`, shifts their biases so that they predict the
/// boxes that they were trained to predict. Returns what was done, or why it could not be, as a sentence.
std::string fit_to_anchors(const TrainedAnchors& trained, const Model& model, const ParameterLayout& layout,
                           std::vector<float>& values);

}  // namespace brightnet
