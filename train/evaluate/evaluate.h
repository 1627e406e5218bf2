// Running a trained network over images: for its metrics, and for what it finds.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "data/image/placement.h"
#include "data/loader/sampler.h"
#include "layers/network.h"
#include "train/distributed/communicator.h"
#include "train/evaluate/metrics.h"
#include "train/evaluate/nms.h"

namespace brightnet {

enum class BestBy : uint8_t { AP, AP50 };
constexpr std::string_view enum_name(BestBy score) {
  switch (score) {
    case BestBy::AP: return "AP";
    case BestBy::AP50: return "AP50";
  }
  return {};
}

/// The `evaluate:` section.
struct EvaluateOptions {
  /// Epochs between evaluations; the last epoch is always evaluated.
  int every = 1;
  /// First epoch (from 1) that is evaluated.
  int start = 1;
  /// Images at a time; 0: the micro-batch.
  int batch = 0;
  /// Side of the input; 0: train.size.
  int size = 0;
  /// The score by which weights are the best.
  BestBy best_by = BestBy::AP;
  NmsOptions nms{.kind = NmsMethod::model};
  void fields(Fields& f);
};

/// How a trained network's detections are made, by `eval`, `detect` and training's evaluations.
struct DetectOptions {
  NmsOptions nms = {};
  int workers = 1;  ///< threads that decode and prepare images ahead of the network
};

/// Called with the index of each image and what was found there, in its pixels, best first. Return false
/// to stop.
using DetectionSink = std::function<bool(int index, std::span<const ScoredBox> boxes)>;

/// Runs an inference network over the images of a data set (this rank's part of them), in order. `fit` has the size of
/// the network's input. Returns false when the sink stopped it.
bool detect_images(Network& network, const Dataset& dataset, const InputFit& fit,
                   const DetectOptions& options, RankPart part, const DetectionSink& sink);

/// Metrics over a data set, of which every rank looks at its part; all get the same, which are those of one rank to the
/// last bit. `sink` also sees this rank's boxes of each image; when it stops on any rank, there are no metrics.
std::optional<Metrics> evaluate(Network& network, const Dataset& dataset, const InputFit& fit,
                                const DetectOptions& options, const DetectionSink& sink = {},
                                Communicator& communicator = Communicator::solo());

/// What a network found in its input, as objects of the width × height image that the input shows, best
/// first: suppressed in coordinates relative to the image, as darknet does, then in pixels. Boxes may reach
/// over the image's border, or lie outside it.
std::vector<ScoredBox> objects_in_image(std::vector<Detection> candidates, const NmsOptions& nms, int width,
                                        int height, const InputFit& fit);

/// The boxes cut at the border of a width × height image; those outside it are dropped.
std::vector<ScoredBox> cut_at_border(std::vector<ScoredBox> boxes, int width, int height);

}  // namespace brightnet
