#include "train/setup/pretrained_boxes.h"

#include <algorithm>
#include <cmath>

#include "train/setup/trained_anchors.h"

namespace brightnet {
namespace {

/// The channels of an anchor: x, y, width and height first, then objectness, then the classes.
constexpr size_t box_channels = 4, values_before_classes = 5;

void keep(const PretrainedPrediction& trained, const YoloHead& head, float* weight, size_t inputs,
          float* bias) {
  const size_t theirs = values_before_classes + trained.classes, ours = head.values();
  const float factor = trained.scale_xy / head.scale_xy;
  for (size_t a = 0; a < trained.anchors.size(); ++a) {
    const Anchor &was = trained.anchors[a], &is = head.anchors[head.mask[a]];
    const float shift[box_channels] = {0, 0, std::log(was.w / is.w), std::log(was.h / is.h)};
    for (size_t i = 0; i < box_channels; ++i) {
      const size_t from = a * theirs + i, to = a * ours + i;
      const float scale = i < 2 ? factor : 1;
      std::transform(trained.weight.begin() + (from * inputs), trained.weight.begin() + ((from + 1) * inputs),
                     weight + to * inputs, [&](float value) { return scale * value; });
      bias[to] = scale * trained.bias[from] + shift[i];
    }
  }
}

}  // namespace

std::vector<std::string> keep_boxes(const std::vector<PretrainedPrediction>& predictions, const Model& model,
                                    const ParameterLayout& layout, std::vector<float>& values) {
  std::vector<std::string> kept;
  const std::vector<PredictionHead> heads = prediction_heads(model);
  for (const PretrainedPrediction& trained : predictions) {
    const auto found = std::find_if(heads.begin(), heads.end(),
                                    [&](const PredictionHead& each) { return each.layer == trained.layer; });
    const ParameterEntry *weight = layout.find(trained.layer + ".weight"),
                         *bias = layout.find(trained.layer + ".bias");
    if (found == heads.end() || !weight || !bias) continue;
    const YoloHead& head = *found->head;
    const size_t channels = trained.anchors.size() * (values_before_classes + trained.classes),
                 inputs = weight->count / weight->shape[0];
    if (std::ssize(trained.anchors) != head.mask_count || trained.bias.size() != channels ||
        trained.weight.size() != channels * inputs || bias->shape[0] != head.channels())
      continue;
    keep(trained, head, values.data() + weight->offset, inputs, values.data() + bias->offset);
    kept.push_back(trained.layer);
  }
  return kept;
}

}  // namespace brightnet
