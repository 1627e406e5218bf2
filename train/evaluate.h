// Running a trained network over images: for its metrics, and for what it finds.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "layers/network.h"
#include "train/metrics.h"
#include "train/nms.h"

namespace brightnet {

struct DetectionOptions {
  NmsOptions nms;
  bool letterbox = false;  ///< keep the aspect ratio, as in training
  int workers = 1;         ///< threads that read images
};

/// Called with the index of each image and what was found there, in its pixels, best first. Return false to
/// stop.
using DetectionSink = std::function<bool(int index, std::span<const ScoredBox> boxes)>;

/// Runs an inference network over the images of a data set, in order. Returns false when the sink stopped it.
bool detect_images(Network& network, const Dataset& dataset, const DetectionOptions& options,
                   const DetectionSink& sink);

/// Metrics over a data set. `sink` also sees each image's boxes; when it stops, there are no metrics.
std::optional<Metrics> evaluate(Network& network, const Dataset& dataset, const DetectionOptions& options,
                                const DetectionSink& sink = {});

/// Detections of a network input of `size` × `size`, in pixels of the width × height image that it shows, cut
/// at the image's border; those outside are dropped.
std::vector<ScoredBox> boxes_in_image(const std::vector<Detection>& detections, int width, int height,
                                      int size, bool letterbox);

}  // namespace brightnet
