// A network's layers as ONNX operators (private to formats).
#pragma once

#include <vector>

#include "formats/onnx/graph.h"
#include "formats/weights.h"
#include "layers/network.h"

namespace brightnet {

/// Appends every layer and returns the output of each one, NCHW; that of a yolo layer is its input. `network`
/// gives the shapes only; the weights are the trained model's, with batch-norm folded in. Where the network is planned in
/// int8, what it stores or reads in 8 bits is rounded by QuantizeLinear and DequantizeLinear, at the same places.
std::vector<OnnxGraph::Value> add_layers(OnnxGraph& graph, const OnnxGraph::Value& input,
                                         const Network& network, const TrainedModel& trained);

}  // namespace brightnet
