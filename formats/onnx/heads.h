// Leads from the heads' convolutions to the graph's outputs (private to formats): logits, boxes and scores,
// or detections. formats/onnx/export.h describes their layout.
#pragma once

#include <vector>

#include "formats/onnx/export.h"
#include "formats/onnx/graph.h"
#include "layers/network.h"

namespace brightnet {

/// A head and the value of its logits [batch, anchors·(5 + classes), rows, columns].
struct HeadLogits {
  std::string name;
  YoloHead head;
  Shape shape;  ///< shape of the logits, NHWC
  OnnxGraph::Value value;
};

/// Appends the operators after the heads; returns the graph's outputs in order.
std::vector<OnnxGraph::Value> add_heads(OnnxGraph& graph, const std::vector<HeadLogits>& heads,
                                        const OnnxOptions& options);

}  // namespace brightnet
