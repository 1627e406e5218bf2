// `head: {anchors: auto}`, the default: anchors fitted to the run's own data where its prediction layers start
// fresh, and how well a model's anchors fit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/commands/anchors.h"
#include "train/setup/automatic.h"

namespace brightnet {

/// The heads of a model, in the order of its layers.
std::vector<const YoloAttributes*> yolo_heads(const Model& model);

/// The boxes that training learns: all but crowds.
int64_t count_boxes(const Dataset& dataset);

/// The options of find_anchors() for a run: as many anchors as the model has, at its training size
/// and placement.
AnchorOptions anchor_options(const RunConfig& config, const Model& model);

/// Whether `weights` supply the layers that predict boxes: `fresh` lists the layers that they do not contain.
bool has_pretrained_predictions(const Model& model, const TrainOptions& train);

/// Replaces `anchors: auto` in the configuration by the anchors of the training split, or by `model` where the
/// model's fit better: they belong to pretrained prediction layers, or the data has too few boxes. `model` is
/// the run's with its own anchors. Returns the choice; nothing where the anchors are given, or are those of an
/// imported darknet network.
std::optional<Choice> choose_anchors(RunConfig& config, const Dataset& train, const Model& model);

/// How well anchors fit boxes, which limits what a head can learn.
struct AnchorFit {
  struct Head {
    std::string name;
    double recall = 0;
  };
  /// The share of boxes with an anchor whose width and height each differ from theirs by less than a factor of
  /// four, over all heads and of each.
  double recall = 0;
  std::vector<Head> heads;
  double mean_iou = 0;  ///< mean IoU of each box with its best anchor, both centred on the same point

  std::string text() const;
};

/// The fit of the heads' anchors. There is at least one box.
AnchorFit anchor_fit(const Model& model, const std::vector<BoxShape>& boxes);

}  // namespace brightnet
