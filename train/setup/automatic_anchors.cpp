#include "train/setup/automatic_anchors.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "core/text.h"
#include "formats/darknet/weights.h"
#include "formats/weights.h"

namespace brightnet {
namespace {

// Every rank fits them when a run starts: enough boxes for six to nine anchors.
constexpr size_t boxes_for_fit = 20000;

// As YOLOv5 measures it: what exp(t) or (2σ(t))² reaches without extreme logits.
constexpr double reach = 4;

/// Whether the run's own data decide.
bool wants_fitted(const RunConfig& config) {
  if (!config.head.anchors) return !config.imported;
  return is_left_to(config.head.anchors, LeftTo::training);
}

/// The first anchor that no head uses, or −1.
int unused_anchor(const Model& model) {
  std::set<int> used;
  int count = 0;
  for (const YoloAttributes* yolo : yolo_heads(model)) {
    used.insert(yolo->head.mask, yolo->head.mask + yolo->head.mask_count);
    count = yolo->head.anchor_count;
  }
  for (int i = 0; i < count; ++i) {
    if (!used.contains(i)) return i;
  }
  return -1;
}

bool same_anchors(const YoloHead& a, const YoloHead& b) {
  return std::equal(a.anchors, a.anchors + a.anchor_count, b.anchors, b.anchors + b.anchor_count);
}

/// Whether all yolo layers list the same anchors, so that their masks index one list.
bool share_anchors(const std::vector<const YoloAttributes*>& heads) {
  return std::all_of(heads.begin(), heads.end(),
                     [&](const YoloAttributes* yolo) { return same_anchors(yolo->head, heads[0]->head); });
}

/// The anchors of the weights whose prediction layers the run takes; empty when these are not known, or not
/// as many.
std::vector<Anchor> anchors_of_weights(const RunConfig& config, const Model& model) {
  if (!has_pretrained_predictions(model, config.train) || is_darknet_weights(config.train.weights)) return {};
  const auto trained = describe_weights(config.train.weights);
  if (!trained) return {};
  const auto theirs = yolo_heads(trained->model);
  if (theirs.empty() || !share_anchors(theirs) ||
      theirs[0]->head.anchor_count != yolo_heads(model)[0]->head.anchor_count)
    return {};
  return {theirs[0]->head.anchors, theirs[0]->head.anchors + theirs[0]->head.anchor_count};
}

/// The text that they have in a configuration.
std::string text_of(const std::vector<Anchor>& anchors) {
  std::vector<std::string> pairs;
  for (const Anchor& anchor : anchors)
    pairs.push_back(fmt::format("[{}, {}]", yaml_number(anchor.w), yaml_number(anchor.h)));
  return fmt::format("[{}]", fmt::join(pairs, ", "));
}

/// Why the model's anchors are better than fitted ones; "" when they are not.
std::string why_keep(const RunConfig& config, const Dataset& train, const Model& model, int anchors) {
  if (has_pretrained_predictions(model, config.train))
    return "the model's, which the pretrained prediction layers were trained with";
  if (!share_anchors(yolo_heads(model))) return "the model's, since its yolo layers list their own";
  if (const int64_t boxes = count_boxes(train); boxes < anchors) {
    return fmt::format("the model's: {} cannot tell {} anchors", counted(boxes, "box", "boxes"), anchors);
  }
  if (const int unused = unused_anchor(model); unused >= 0)
    return fmt::format("the model's: its anchor {} is in no head's mask", unused);
  return "";
}

bool within_reach(const BoxShape& box, const Anchor& anchor) {
  const auto near = [](double a, double b) { return std::max(a / b, b / a) < reach; };
  return near(box.width, anchor.w) && near(box.height, anchor.h);
}

}  // namespace

std::vector<const YoloAttributes*> yolo_heads(const Model& model) {
  std::vector<const YoloAttributes*> heads;
  for (const auto& layer : model.layers) {
    if (const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes)) heads.push_back(yolo);
  }
  return heads;
}

int64_t count_boxes(const Dataset& dataset) {
  int64_t boxes = 0;
  for (const ImageRecord& image : dataset.images)
    boxes += std::ranges::count(image.annotations, false, &Annotation::crowd);
  return boxes;
}

AnchorOptions anchor_options(const RunConfig& config, const Model& model) {
  AnchorOptions options;
  for (const YoloAttributes* yolo : yolo_heads(model)) options.count = yolo->head.anchor_count;
  options.size = config.train.size;
  options.letterbox = config.augment.letterbox;
  options.seed = config.train.seed;
  return options;
}

bool has_pretrained_predictions(const Model& model, const TrainOptions& train) {
  if (train.weights.empty()) return false;
  const std::set<std::string> fresh(train.fresh.begin(), train.fresh.end());
  return std::any_of(model.layers.begin(), model.layers.end(), [&](const LayerDescription& layer) {
    return is_head(layer) && !fresh.contains(model.layers[layer.inputs[0]].name);
  });
}

std::optional<Choice> choose_anchors(RunConfig& config, const Dataset& train, const Model& model) {
  if (!wants_fitted(config)) return std::nullopt;
  const auto take = [&](const std::vector<Anchor>& anchors, const std::string& reason) {
    config.head.anchors = HeadAnchors{anchors, ""};
    return Choice{"head.anchors", text_of(anchors), reason};
  };
  if (const auto anchors = anchors_of_weights(config, model); !anchors.empty())
    return take(anchors, "as the pretrained prediction layers were trained");
  AnchorOptions options = anchor_options(config, model);
  options.most_boxes = boxes_for_fit;
  if (const std::string why = why_keep(config, train, model, options.count); !why.empty()) {
    config.head.anchors = LeftTo::model;
    return Choice{"head.anchors", "model", why};
  }
  const AnchorResult found = find_anchors(train, options);
  std::string reason = "fitted to " + counted(found.boxes, "box", "boxes");
  if (found.filled > 0) {
    reason += fmt::format(" of {}; {} between and around them",
                          counted(std::ssize(found.anchors) - found.filled, "shape", "shapes"),
                          counted(found.filled, "anchor lies", "anchors lie"));
  }
  std::vector<Anchor> anchors;
  for (const BoxShape& shape : found.anchors)
    anchors.push_back({static_cast<float>(shape.width), static_cast<float>(shape.height)});
  return take(anchors, reason);
}

AnchorFit anchor_fit(const Model& model, const std::vector<BoxShape>& boxes) {
  AnchorFit fit;
  std::vector<size_t> reached_by_any(boxes.size());
  std::vector<double> best(boxes.size());
  for (const LayerDescription& layer : model.layers) {
    const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes);
    if (!yolo) continue;
    size_t reached = 0;
    for (size_t i = 0; i < boxes.size(); ++i) {
      bool near = false;
      for (int a = 0; a < yolo->head.mask_count; ++a) {
        const Anchor& anchor = yolo->head.anchors[yolo->head.mask[a]];
        near |= within_reach(boxes[i], anchor);
        best[i] = std::max(best[i], shape_iou(boxes[i], {anchor.w, anchor.h}));
      }
      reached += near;
      reached_by_any[i] |= near;
    }
    fit.heads.push_back({layer.name, reached / static_cast<double>(boxes.size())});
  }
  for (size_t i = 0; i < boxes.size(); ++i) {
    fit.recall += reached_by_any[i] / static_cast<double>(boxes.size());
    fit.mean_iou += best[i] / boxes.size();
  }
  return fit;
}

std::string AnchorFit::text() const {
  std::string each;
  for (const Head& head : heads)
    each += fmt::format("{}{} {:.1f} %", each.empty() ? "" : ", ", head.name, 100 * head.recall);
  return fmt::format(
      "Anchors: {:.1f} % of the training boxes have one within a factor of {:g} in width and height ({}); the mean IoU "
      "with the best one is {:.3f}",
      100 * recall, reach, each, mean_iou);
}

}  // namespace brightnet
