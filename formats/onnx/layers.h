// A network's layers as ONNX operators (private to formats).
#pragma once

#include <vector>

#include "formats/onnx/graph.h"
#include "layers/network.h"

namespace brightnet {

/// Appends every layer and returns the output of each one, NCHW; that of a yolo layer is its input. `network`
/// gives the shapes only; the weights are `values`, in the layout's order, with batch-norm folded in.
std::vector<OnnxGraph::Value> add_layers(OnnxGraph& graph, const OnnxGraph::Value& input,
                                         const Network& network, const ParameterLayout& layout,
                                         const std::vector<float>& values);

}  // namespace brightnet
