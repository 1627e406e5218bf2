// From the heads' convolutions to what leaves the graph (private to train/formats): logits, boxes and scores,
// or detections. train/formats/onnx/export.h says what each looks like.
#pragma once

#include <vector>

#include "layers/network.h"
#include "train/formats/onnx/export.h"
#include "train/formats/onnx/graph.h"

namespace brightnet {

/// A head and the value of its logits [batch, anchors·(5 + classes), rows, columns].
struct HeadLogits {
  std::string name;
  YoloHead head;
  Shape shape;  ///< of the logits, NHWC
  OnnxGraph::Value value;
};

/// Appends the operators behind the heads; returns the graph's outputs in their order.
std::vector<OnnxGraph::Value> add_heads(OnnxGraph& graph, const std::vector<HeadLogits>& heads,
                                        const OnnxOptions& options);

}  // namespace brightnet
