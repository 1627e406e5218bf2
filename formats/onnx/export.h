// ONNX (onnx.ai): a trained network as a graph that OpenCV, ONNX Runtime and TensorRT run. docs/deploy.md
// shows how.
//
// Input `images`, fp32 [batch, channels, height, width]: RGB or grey planes, values from 0 to 1. Outputs, by OnnxHeads:
//
//   raw      one per head, with its layer's name: logits [batch, anchors·(5 + classes), rows, columns]; for
//            each anchor x, y, w, h, objectness and the classes
//   decoded  `boxes` [batch, M, 4]: x1, y1, x2, y2 as fractions of the input (0, 0 is the upper left);
//            `scores` [batch, M, classes]: objectness × class probability. Predictions are in the order of
//            heads, rows, columns, anchors.
//   nms      `detections` [D, 7]: image of the batch, class, score, x1, y1, x2, y2 (as above); for each image
//            and class best first. D is the number of detections in the batch, possibly 0.
//
// Batch-norm is folded into the convolutions. Every graph passes onnx::checker and strict shape inference.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "brightnet/export.h"
#include "formats/onnx/metadata.h"
#include "formats/weights.h"

namespace brightnet {

struct OnnxOptions {
  OnnxHeads heads = OnnxHeads::decoded;
  InputSize size = 0;                ///< size of the input; 0: the trained model's
  int batch = 1;                     ///< images at once; 0: dynamic
  int opset = onnx_oldest_opset;     ///< opset version; the oldest is what most runtimes read
  float score = 0.25f, iou = 0.45f;  ///< thresholds of NonMaxSuppression
  int max_detections = 300;          ///< limit of NonMaxSuppression, per class and image
};

/// An input or output of the graph.
struct OnnxTensor {
  std::string name, type;          ///< type: "float32"
  std::vector<std::string> shape;  ///< numbers, or names of sizes known only when it runs
};

struct OnnxSummary {
  std::vector<OnnxTensor> inputs, outputs;
  size_t nodes = 0;
  uint64_t bytes = 0;
};

/// Writes the network atomically. Throws InputError when the options do not fit the model (a size that is not
/// a multiple of its stride, an opset out of range) or the file cannot be written.
OnnxSummary export_onnx(const TrainedModel& trained, const OnnxOptions& options,
                        const std::filesystem::path& file);

}  // namespace brightnet
