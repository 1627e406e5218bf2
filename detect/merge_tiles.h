// One list of objects from those found in overlapping tiles of a picture.
#pragma once

#include <vector>

#include "core/box.h"
#include "data/tiles/tiles.h"

namespace brightnet {

/// Greedy, per class or over all, best score first (Akyon et al. 2022, §3; obss/sahi's GREEDYNMM and NMS): the best box
/// takes all others that match it by `threshold` or more. With nms they are dropped. With nmm the box grows around each
/// that has at least half its score and also matches it as it has grown by then; it keeps its score, and the others are
/// dropped. Returns at most `most` boxes, best first; of equal scores the lower class is first, then the order is kept.
/// Time: boxes × boxes kept.
std::vector<ScoredBox> merge_tiles(std::vector<ScoredBox> boxes, const TileOptions& options, int most,
                                   bool class_agnostic = false);

}  // namespace brightnet
