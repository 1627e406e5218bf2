// The decoding of kernels/math/box.h in ONNX operators. Whatever depends only on the cell or the anchor is
// computed here as a constant, so that the graph only adds and multiplies.
#include "formats/onnx/heads.h"

#include <algorithm>

#include "kernels/math/box.h"

namespace brightnet {
namespace {

using Value = OnnxGraph::Value;

/// [batch, anchors·values, rows, columns] → [batch, rows·columns·anchors, values].
Value rows_of_predictions(OnnxGraph& graph, const HeadLogits& logits) {
  const int64_t anchors = logits.head.mask_count, values = logits.head.values();
  const int64_t cells = static_cast<int64_t>(logits.shape.h) * logits.shape.w;
  const Value parted = graph.reshape(logits.name + "/parted", logits.value, {0, anchors, values, cells});
  const Value turned = graph.transpose(logits.name + "/turned", parted, {0, 3, 1, 2});
  return graph.reshape(logits.name + "/predictions", turned, {0, cells * anchors, values});
}

/// Offsets of the predictions' centres and factors of their sizes, in the order of the predictions.
struct PredictionConstants {
  std::vector<float> steps, offsets, half_anchors;  ///< x and y of each prediction
};

PredictionConstants prediction_constants(const HeadLogits& logits) {
  const YoloHead& head = logits.head;
  // σ(t) = 0 is this far (in cells) above and left of the cell's corner.
  const float margin = 0.5f * (head.scale_xy - 1.0f);
  const float rows = logits.shape.h, columns = logits.shape.w;
  // new_coords: (2σ)² = 4σ².
  const float factor = 0.5f * (head.new_coords ? 4.0f : 1.0f);
  PredictionConstants constants;
  for (int row = 0; row < logits.shape.h; ++row) {
    for (int column = 0; column < logits.shape.w; ++column) {
      for (int a = 0; a < head.mask_count; ++a) {
        const Box anchor = relative_anchor(head, head.mask[a]);
        constants.steps.push_back(head.scale_xy / columns);
        constants.steps.push_back(head.scale_xy / rows);
        constants.offsets.push_back((column - margin) / columns);
        constants.offsets.push_back((row - margin) / rows);
        constants.half_anchors.push_back(factor * anchor.w);
        constants.half_anchors.push_back(factor * anchor.h);
      }
    }
  }
  return constants;
}

/// Corners, as fractions of the input: [batch, predictions, 4]. Size logits are clipped only for NMS, where
/// products of sizes could overflow: OpenCV 4.6 cannot read Clip.
Value decoded_boxes(OnnxGraph& graph, const HeadLogits& logits, const Value& predictions,
                    const OnnxOptions& options) {
  const std::string& name = logits.name;
  const YoloHead& head = logits.head;
  const PredictionConstants constants = prediction_constants(logits);
  const auto count = static_cast<int64_t>(constants.offsets.size() / 2);
  // ONNX broadcasts the smaller of two shapes. OpenCV 4.6 broadcasts a product along the batch, but not a sum
  // (it silently gets the second image wrong), so the offsets are repeated for each image.
  const auto constant = [&](const char* what, const std::vector<float>& values, int images) {
    std::vector<float> repeated;
    for (int image = 0; image < images; ++image)
      repeated.insert(repeated.end(), values.begin(), values.end());
    return graph.floats(name + what, {images, count, 2}, repeated);
  };

  const Value position =
      graph.add(name + "/position", "Sigmoid", {graph.slice(name + "/xy", predictions, 2, 0, 2)});
  const Value moved = graph.add(name + "/moved", "Mul", {position, constant("/step", constants.steps, 1)});
  const Value center = graph.add(name + "/center", "Add",
                                 {moved, constant("/offset", constants.offsets, std::max(1, options.batch))});

  Value limited = graph.slice(name + "/wh", predictions, 2, 2, 4);
  if (are_suppressed(options.heads)) {
    limited = graph.add(name + "/limited", "Clip",
                        {limited, graph.scalar(name + "/least", -size_logit_limit),
                         graph.scalar(name + "/most", size_logit_limit)});
  }
  Value growth;
  if (head.new_coords) {
    const Value sigmoid = graph.add(name + "/sigmoid", "Sigmoid", {limited});
    growth = graph.add(name + "/squared", "Mul", {sigmoid, sigmoid});
  } else {
    growth = graph.add(name + "/exp", "Exp", {limited});
  }
  const Value half =
      graph.add(name + "/half", "Mul", {growth, constant("/half_anchor", constants.half_anchors, 1)});
  return graph.concat(name + "/boxes",
                      {graph.add(name + "/upper_left", "Sub", {center, half}),
                       graph.add(name + "/lower_right", "Add", {center, half})},
                      2);
}

/// Objectness × class probability: [batch, predictions, classes].
Value decoded_scores(OnnxGraph& graph, const HeadLogits& logits, const Value& predictions) {
  const std::string& name = logits.name;
  const Value sure = graph.add(name + "/probability", "Sigmoid",
                               {graph.slice(name + "/logits", predictions, 2, 4, logits.head.values())});
  return graph.add(name + "/scores", "Mul",
                   {graph.slice(name + "/classes", sure, 2, 1, logits.head.values() - 4),
                    graph.slice(name + "/objectness", sure, 2, 0, 1)});
}

/// NonMaxSuppression expects corners in the order y, x, but the IoU is the same with x and y exchanged.
Value suppressed(OnnxGraph& graph, const Value& boxes, const Value& scores, const OnnxOptions& options) {
  const Value by_class = graph.transpose("nms/scores", scores, {0, 2, 1});
  const Value selected = graph.add(
      "nms/selected", "NonMaxSuppression",
      {boxes, by_class, graph.ints("nms/most", {options.max_detections}),
       graph.floats("nms/iou", {1}, {&options.iou, 1}), graph.floats("nms/score", {1}, {&options.score, 1})});
  // `selected` has one row (image, class, prediction) per detection.
  const Value place = graph.add("nms/place", "Gather",
                                {selected, graph.ints("nms/image_and_prediction", {0, 2})}, {{"axis", 1}});
  const Value kept_boxes = graph.add("nms/kept_boxes", "GatherND", {boxes, place});
  const Value kept_scores = graph.reshape(
      "nms/kept_scores", graph.add("nms/score_list", "GatherND", {by_class, selected}), {-1, 1});
  const Value labels =
      graph.add("nms/labels", "Cast", {graph.slice("nms/image_and_class", selected, 1, 0, 2)},
                {{"to", static_cast<int64_t>(onnx::TensorProto::FLOAT)}});
  return graph.concat("detections", {labels, kept_scores, kept_boxes}, 1);
}

}  // namespace

std::vector<Value> add_heads(OnnxGraph& graph, const std::vector<HeadLogits>& heads,
                             const OnnxOptions& options) {
  std::vector<Value> raw, boxes, scores;
  for (const HeadLogits& logits : heads) {
    if (!are_decoded(options.heads)) {
      raw.push_back(graph.add(logits.name, "Identity", {logits.value}));
      continue;
    }
    const Value predictions = rows_of_predictions(graph, logits);
    boxes.push_back(decoded_boxes(graph, logits, predictions, options));
    scores.push_back(decoded_scores(graph, logits, predictions));
  }
  if (!are_decoded(options.heads)) return raw;
  const Value all_boxes = graph.concat("boxes", boxes, 1), all_scores = graph.concat("scores", scores, 1);
  if (!are_suppressed(options.heads)) return {all_boxes, all_scores};
  return {suppressed(graph, all_boxes, all_scores, options)};
}

}  // namespace brightnet
