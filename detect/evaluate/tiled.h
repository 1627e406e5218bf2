// Evaluation of pictures tile by tile (data/tiles/tiles.h): each tile goes through the network as an image, and the
// objects of a picture's tiles, and of the picture as a whole, are merged. A picture of one tile is evaluated as an
// ordinary image.
#pragma once

#include <vector>

#include "detect/evaluate/evaluate.h"

namespace brightnet {

/// A tile's candidates as objects in pixels of its picture, after NMS within the tile, and cut at the tile's edges.
std::vector<ScoredBox> objects_in_tile(std::vector<Detection> candidates, const NmsOptions& nms,
                                       const ImageTile& tile, const InputFit& fit);

/// detect_images() with options.tiles. The loss of a picture is the sum over its tiles, with the ground truth that
/// training has in them. A picture is decoded once for all of its tiles.
bool detect_in_tiles(Network& network, const Dataset& dataset, const InputFit& fit,
                     const DetectOptions& options, RankPart part, const DetectionSink& sink,
                     std::vector<YoloLoss>* losses = nullptr);

}  // namespace brightnet
