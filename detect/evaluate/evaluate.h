// Runs a trained network on images to get its detections and metrics.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/image/placement.h"
#include "data/loader/sampler.h"
#include "data/tiles/tiles.h"
#include "detect/evaluate/metrics.h"
#include "detect/evaluate/nms.h"
#include "layers/network.h"

namespace brightnet {

/// Options of inference in `eval`, `detect` and the evaluations during training.
struct DetectOptions {
  NmsOptions nms = {};
  int workers = 1;  ///< threads that decode and prepare images ahead of the network
  /// The network for batches of this size. Set: rectangular batches (data/loader/rect_batches.h), for which images must
  /// be letterboxed. Unset: every batch has the network's size.
  std::function<Network&(const InputSize&)> rect = {};
  TileOptions tiles = {};  ///< with a size: detections in tiles, merged (detect/evaluate/merge_tiles.h)
};

/// Called with the index of each image and its detections in pixels, best first. Return false to stop.
using DetectionSink = std::function<bool(int index, std::span<const ScoredBox> boxes)>;

/// Runs an inference network on this rank's part of a data set's images, in order, or for rectangular batches
/// by their shapes. `fit` has the size of the network's input. Returns false when the sink stopped it. The
/// loss of each image of the part is put into `losses`, if given, in their order, for which the network must
/// be planned (NetworkSetup::loss_of_inference).
bool detect_images(Network& network, const Dataset& dataset, const InputFit& fit,
                   const DetectOptions& options, RankPart part, const DetectionSink& sink,
                   std::vector<YoloLoss>* losses = nullptr);

/// The losses of the images that the network has just seen, against the ground truth as training has
/// it without augmentation.
std::vector<YoloLoss> losses_of(Network& network, const Dataset& dataset, const InputFit& fit,
                                std::span<const int> images);

/// The ranks that evaluate one data set, each a part of its images.
struct EvaluationRanks {
  RankPart part;
  /// Exchanges bytes of any length: those of all ranks, in rank order. All ranks call it as often. Unset: one rank.
  std::function<std::vector<std::string>(std::string_view bytes)> all_gather = {};
  /// Does this rank's work, and throws on all ranks if it failed on one of them. Unset: its errors are this rank's own.
  std::function<void(const std::function<void()>& work)> together = {};
};

/// Metrics on a data set, of which every rank evaluates its part, and the loss where the network computes it.
/// All ranks get the same metrics, bit-identical to those of a single rank. `sink` also gets this rank's
/// boxes; if it stops on any rank, there are no metrics.
std::optional<Metrics> evaluate(Network& network, const Dataset& dataset, const InputFit& fit,
                                const DetectOptions& options, const DetectionSink& sink = {},
                                const EvaluationRanks& ranks = {});

/// Converts a network's candidates to objects of the width × height image shown in its input, best first: NMS
/// in coordinates relative to the image, as in darknet, then pixels. Boxes may extend beyond the image, or be
/// outside it.
std::vector<ScoredBox> objects_in_image(std::vector<Detection> candidates, const NmsOptions& nms, int width,
                                        int height, const InputFit& fit);

/// Clips the boxes to a width × height image and drops those outside it.
std::vector<ScoredBox> cut_at_border(std::vector<ScoredBox> boxes, int width, int height);

}  // namespace brightnet
