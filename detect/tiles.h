// Detection in the tiles of a frame (data/tiles/tiles.h): each tile goes through the network as an image.
#pragma once

#include <span>
#include <vector>

#include <opencv2/core.hpp>

#include "detect/detect.h"
#include "detect/evaluate/evaluate.h"
#include "detect/fill_input.h"
#include "detect/inference.h"

namespace brightnet {

/// Keeps its buffers. The network's passes for a frame are its tiles divided by the network's batch, rounded up.
class TileDetector {
 public:
  /// `options` has tiles. `classes` flags the wanted class ids; empty: all.
  TileDetector(InferenceNetwork& inference, const DetectOptions& options, const std::vector<bool>& classes);

  /// The objects in an RGB image, in its pixels, cut at its border and best first: those of its tiles, merged if there
  /// are several. The seconds are added to `times`.
  std::vector<ScoredBox> find(const cv::Mat& image, StageTimes& times);

 private:
  /// For at most a batch of tiles.
  void run(const cv::Mat& image, std::span<const ImageTile> tiles, StageTimes& times,
           std::vector<ScoredBox>& boxes);

  InferenceNetwork& inference_;
  const DetectOptions options_;
  const std::vector<bool>& classes_;
  std::vector<InputFiller> fillers_;  // one a thread
  std::vector<uint8_t> pixels_;
  std::vector<float> values_;
};

/// Removes the candidates of classes that are not wanted.
void keep_classes(std::vector<Detection>& candidates, const std::vector<bool>& classes);

}  // namespace brightnet
