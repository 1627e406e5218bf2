#include "layers/distillation.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace brightnet {
namespace {

/// A head and what it is found by.
struct FoundHead {
  int layer;
  double stride;
};

std::vector<FoundHead> heads_of(const Model& model) {
  const std::vector<double> scales = layer_scales(model.layers);
  std::vector<FoundHead> heads;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (is_head(model.layers[i])) heads.push_back({static_cast<int>(i), scales[i]});
  }
  return heads;
}

std::string described(const Model& model, const std::vector<FoundHead>& heads) {
  std::vector<double> strides;
  for (const FoundHead& head : heads) strides.push_back(head.stride);
  return fmt::format("'{}' predicts at strides of {:g}", model.name, fmt::join(strides, ", "));
}

/// The layer that the convolution before a head reads.
int features_of(const Model& model, int head) {
  int layer = model.layers[head].inputs[0];
  while (layer != network_input && !std::holds_alternative<ConvAttributes>(model.layers[layer].attributes))
    layer = model.layers[layer].inputs[0];
  return layer == network_input ? network_input : model.layers[layer].inputs[0];
}

LayerDescription adapter(const Model& student, int reads, int channels) {
  LayerDescription layer;
  const std::string& read = student.layers[reads].name;
  layer.name = "adapter." + read;
  const auto is_taken = [&](const LayerDescription& other) { return other.name == layer.name; };
  while (std::any_of(student.layers.begin(), student.layers.end(), is_taken)) layer.name += '_';
  layer.inputs = {reads};
  ConvAttributes conv;
  conv.filters = channels;
  conv.batch_norm = false;
  layer.attributes = conv;
  layer.channels = channels;
  return layer;
}

const YoloHead& yolo_head(const Model& model, int layer) {
  return std::get<YoloAttributes>(model.layers[layer].attributes).head;
}

YoloHead sized(YoloHead head, const InputSize& size) {
  head.input_width = size.width;
  head.input_height = size.height;
  return head;
}

}  // namespace

Distillation make_distillation(const Model& student, const Model& teacher, float predictions,
                               float features) {
  if (student.classes != teacher.classes || student.channels != teacher.channels) {
    throw InputError(
        fmt::format("the teacher '{}' has {} classes and {} channels of the image, and '{}', which is to "
                    "learn from it, {} and {}",
                    teacher.name, teacher.classes, teacher.channels, student.name, student.classes,
                    student.channels),
        "train.teacher", "Give a teacher that was trained on the same classes and kind of images.");
  }
  Distillation distillation;
  distillation.student = student;
  distillation.teacher = teacher;
  distillation.predictions = predictions;
  distillation.features = features;
  const std::vector<FoundHead> own = heads_of(student), others = heads_of(teacher);
  std::set<int> taken;
  for (const FoundHead& head : own) {
    const auto found = std::find_if(others.begin(), others.end(), [&](const FoundHead& other) {
      return other.stride == head.stride && !taken.contains(other.layer);
    });
    if (found == others.end()) {
      throw InputError(
          fmt::format("the teacher has no head for each of the network's: {}, and the teacher {}",
                      described(student, own), described(teacher, others)),
          "train.teacher", "Give a teacher that predicts at the same strides; it may have others too.");
    }
    taken.insert(found->layer);
    TaughtHead taught{.student = head.layer, .teacher = found->layer};
    const int reads = features_of(student, head.layer), shows = features_of(teacher, found->layer);
    if (features > 0 && reads != network_input && shows != network_input) {
      const int channels = teacher.layers[shows].channels;
      taught.features = shows;
      taught.adapter = static_cast<int>(distillation.student.layers.size());
      distillation.student.layers.push_back(adapter(distillation.student, reads, channels));
    }
    distillation.heads.push_back(taught);
  }
  if (!student.quantization.empty())
    distillation.student.quantization.resize(distillation.student.layers.size());
  return distillation;
}

std::vector<int> kept_outputs(const Distillation& distillation) {
  std::vector<int> kept;
  for (const TaughtHead& head : distillation.heads) {
    if (head.features >= 0) kept.push_back(head.features);
  }
  return kept;
}

DistillationLoss::DistillationLoss(const Distillation& distillation, const Network& teacher, Backend& backend)
    : distillation_(distillation), teacher_(teacher), backend_(backend) {
  const InputSize size = teacher.setup().size();
  for (const TaughtHead& head : distillation.heads) {
    heads_.push_back(pair_heads(sized(yolo_head(distillation.student, head.student), size),
                                sized(yolo_head(distillation.teacher, head.teacher), size)));
  }
}

size_t DistillationLoss::workspace_bytes() const {
  size_t bytes = 0;
  for (const TaughtHead& head : distillation_.heads)
    bytes = std::max(bytes, distillation_workspace(teacher_.output_shape(head.teacher)));
  return bytes;
}

void DistillationLoss::loss(int layer, const Tensor& output, const Tensor& gradient,
                            const GradientScale& scale, LossTotals* totals) {
  const auto& heads = distillation_.heads;
  const auto found = std::find_if(heads.begin(), heads.end(), [&](const TaughtHead& head) {
    return head.student == layer || head.adapter == layer;
  });
  BRIGHTNET_CHECK(found != heads.end() && workspace_, "a loss against the teacher of a layer that has none");
  const bool of_features = found->adapter == layer;
  const DistillationPass pass{.student = output,
                              .teacher = teacher_.output(of_features ? found->features : found->teacher),
                              .gradient = gradient,
                              .weight = of_features ? distillation_.features : distillation_.predictions,
                              .scale = scale,
                              .totals = totals,
                              .workspace = workspace_};
  of_features ? backend_.distill_features(pass)
              : backend_.distill_predictions(heads_[found - heads.begin()], pass);
}

}  // namespace brightnet
