#include "train/setup/trained_anchors.h"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "formats/download/published_weights.h"

namespace brightnet {
namespace {

/// Channel a · (5 + classes) + 2 is t of the width for anchor a, the next that of the height.
void shift_biases(const PredictionHead& head, int classes, const std::vector<Anchor>& trained,
                  const ParameterLayout& layout, std::vector<float>& values) {
  const ParameterEntry* bias = layout.find(head.layer + ".bias");
  BRIGHTNET_CHECK(bias, "a prediction layer without biases");
  const std::vector<Anchor> now = own_anchors(*head.head);
  for (size_t a = 0; a < now.size(); ++a) {
    float* of_width = values.data() + bias->offset + a * (5 + classes) + 2;
    of_width[0] += std::log(trained[a].w / now[a].w);
    of_width[1] += std::log(trained[a].h / now[a].h);
  }
}

}  // namespace

std::vector<PredictionHead> prediction_heads(const Model& model) {
  std::vector<PredictionHead> heads;
  for (const LayerDescription& layer : model.layers) {
    const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes);
    if (yolo && layer.inputs[0] != network_input)
      heads.push_back({model.layers[layer.inputs[0]].name, &yolo->head});
  }
  return heads;
}

std::vector<Anchor> own_anchors(const YoloHead& head) {
  std::vector<Anchor> anchors;
  for (int i = 0; i < head.mask_count; ++i) anchors.push_back(head.anchors[head.mask[i]]);
  return anchors;
}

std::string anchors_text(const std::vector<Anchor>& anchors) {
  std::vector<std::string> all;
  for (const Anchor& anchor : anchors) all.push_back(fmt::format("{:g}x{:g}", anchor.w, anchor.h));
  return fmt::format("{}", fmt::join(all, " "));
}

TrainedAnchors anchors_of(const Model& network) {
  TrainedAnchors trained;
  for (const PredictionHead& head : prediction_heads(network)) {
    trained.heads.push_back(own_anchors(*head.head));
    trained.logarithmic = trained.logarithmic && !head.head->new_coords;
  }
  return trained;
}

TrainedAnchors anchors_of_published(const std::filesystem::path& weights) {
  TrainedAnchors trained;
  const auto published = recognize_published_weights(weights);
  if (!published) return trained;
  for (const std::vector<float>& sides : published->anchors) {
    std::vector<Anchor>& head = trained.heads.emplace_back();
    for (size_t i = 0; i + 1 < sides.size(); i += 2) head.push_back({sides[i], sides[i + 1]});
  }
  return trained;
}

std::string fit_to_anchors(const TrainedAnchors& trained, const Model& model, const ParameterLayout& layout,
                           std::vector<float>& values) {
  const std::vector<PredictionHead> heads = prediction_heads(model);
  std::vector<std::string> ours, others;
  bool fits = trained.heads.size() == heads.size() && trained.logarithmic;
  for (size_t i = 0; i < heads.size(); ++i) {
    const std::vector<Anchor> now = own_anchors(*heads[i].head);
    ours.push_back(fmt::format("{}: {}", heads[i].layer, anchors_text(now)));
    if (i >= trained.heads.size() || trained.heads[i] == now) continue;
    others.push_back(fmt::format("{}: {} in the weights, {} here", heads[i].layer,
                                 anchors_text(trained.heads[i]), anchors_text(now)));
    fits = fits && trained.heads[i].size() == now.size() && !heads[i].head->new_coords;
  }
  if (trained.heads.empty()) {
    return fmt::format(
        "Nor do they say with which anchors the prediction layers were trained, which are taken to be the model's "
        "({}). If they are others, give the weights' .cfg with --weights-cfg.",
        fmt::join(ours, "; "));
  }
  if (trained.heads.size() != heads.size())
    return fmt::format(
        "They were trained with {} yolo layers, and this model has {}: the first boxes will be wrong.",
        trained.heads.size(), heads.size());
  if (others.empty()) return "The prediction layers were trained with this model's anchors.";
  const std::string all = fmt::format("{}", fmt::join(others, "; "));
  if (!fits)
    return "The prediction layers were trained with other anchors, so their first boxes are wrong by as much (" +
           all + ").";
  for (size_t i = 0; i < heads.size(); ++i) {
    if (trained.heads[i] != own_anchors(*heads[i].head))
      shift_biases(heads[i], model.classes, trained.heads[i], layout, values);
  }
  return "The prediction layers were trained with other anchors (" + all +
         "): their biases are shifted, so that they predict the same boxes.";
}

}  // namespace brightnet
