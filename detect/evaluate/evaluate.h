// Runs a trained network on a data set to get its detections and metrics.
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
#include "detect/evaluate/metrics.h"
#include "detect/inference_engine.h"
#include "detect/pipeline.h"

namespace brightnet {

/// Called with the index of each image and its detections in pixels, best first. Return false to stop.
using DetectionSink = std::function<bool(int index, std::span<const ScoredBox> boxes)>;

/// Runs a network on this rank's part of a data set's images, in order, or for rectangular batches
/// by their shapes. `fit` has the size of the engine's input. Returns false when the sink stopped it. The
/// loss of each image of the part is put into `losses`, if given, in their order, which the engine must be able to
/// compute.
bool detect_images(InferenceEngine& engine, const Dataset& dataset, const InputFit& fit,
                   const PipelineOptions& options, RankPart part, const DetectionSink& sink,
                   std::vector<YoloLoss>* losses = nullptr);

/// The ranks that evaluate one data set, each a part of its images.
struct EvaluationRanks {
  RankPart part;
  /// Exchanges bytes of any length: those of all ranks, in rank order. All ranks call it as often. Unset: one rank.
  std::function<std::vector<std::string>(std::string_view bytes)> all_gather = {};
  /// Does this rank's work, and throws on all ranks if it failed on one of them. Unset: its errors are this rank's own.
  std::function<void(const std::function<void()>& work)> together = {};
};

/// Metrics on a data set, of which every rank evaluates its part, and the loss where the engine computes it.
/// All ranks get the same metrics, bit-identical to those of a single rank. `sink` also gets this rank's
/// boxes; if it stops on any rank, there are no metrics.
std::optional<Metrics> evaluate(InferenceEngine& engine, const Dataset& dataset, const InputFit& fit,
                                const PipelineOptions& options, const DetectionSink& sink = {},
                                const EvaluationRanks& ranks = {});

}  // namespace brightnet
