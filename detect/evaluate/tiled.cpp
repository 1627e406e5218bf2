#include "detect/evaluate/tiled.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "data/loader/evaluation_loader.h"
#include "detect/evaluate/merge_tiles.h"

namespace brightnet {
namespace {

/// The tiles of this rank's pictures, picture by picture.
struct TiledPart {
  Dataset images;
  std::vector<ImageTile> tiles;  ///< what each image is of its picture
  std::vector<int> picture;      ///< its picture's index in the data set
};

TiledPart cut(const Dataset& dataset, RankPart part, const TileOptions& options) {
  TiledPart cut;
  cut.images.classes = dataset.classes;
  for (int i = part.rank; i < static_cast<int>(dataset.images.size()); i += part.ranks) {
    const ImageRecord& picture = dataset.images[static_cast<size_t>(i)];
    for (const ImageTile& tile : tiles_of(picture.width, picture.height, options)) {
      cut.images.images.push_back(cut_out(picture, tile, options.min_visible));
      cut.tiles.push_back(tile);
      cut.picture.push_back(i);
    }
  }
  return cut;
}

YoloLoss sum(const std::vector<YoloLoss>& losses) {
  YoloLoss sum;
  for (const YoloLoss& loss : losses) {
    sum.box += loss.box;
    sum.objectness += loss.objectness;
    sum.classes += loss.classes;
    sum.iou += loss.iou;
    sum.assigned += loss.assigned;
    sum.recall50 += loss.recall50;
  }
  return sum;
}

/// What the tiles of one picture have given so far.
struct OpenPicture {
  int index = -1;
  std::vector<ScoredBox> boxes;
  std::vector<YoloLoss> losses;
  int tiles = 0;
};

}  // namespace

std::vector<ScoredBox> objects_in_tile(std::vector<Detection> candidates, const NmsOptions& nms,
                                       const ImageTile& tile, const InputFit& fit) {
  auto boxes = cut_at_border(objects_in_image(std::move(candidates), nms, tile.width, tile.height, fit),
                             tile.width, tile.height);
  const auto x = static_cast<float>(tile.x), y = static_cast<float>(tile.y);
  for (ScoredBox& box : boxes) {
    box.x1 += x;
    box.x2 += x;
    box.y1 += y;
    box.y2 += y;
  }
  return boxes;
}

bool detect_in_tiles(Network& network, const Dataset& dataset, const InputFit& fit,
                     const DetectOptions& options, RankPart part, const DetectionSink& sink,
                     std::vector<YoloLoss>* losses) {
  const TiledPart tiled = cut(dataset, part, options.tiles);
  if (losses) losses->clear();
  std::vector<int> order(tiled.picture.size());
  std::iota(order.begin(), order.end(), 0);
  EvaluationLoader loader(tiled.images, std::move(order), network.setup().batch, fit, options.workers);
  OpenPicture open;
  const auto close = [&] {
    if (open.index < 0) return true;
    if (losses) losses->push_back(sum(open.losses));
    if (open.tiles > 1)
      open.boxes = merge_tiles(std::move(open.boxes), options.tiles, options.nms.max_detections);
    return sink(open.index, open.boxes);
  };
  std::vector<std::vector<ScoredBox>> boxes(static_cast<size_t>(network.setup().batch));
  while (const EvaluationLoader::Images* images = loader.next()) {
    if (images->values) {
      network.set_values(images->values);
    } else {
      network.set_pixels(images->pixels);
    }
    network.infer();
    const auto candidates = network.detections(options.nms.score);
    const auto count = static_cast<size_t>(images->count);
    std::vector<YoloLoss> tile_losses;
    if (losses) tile_losses = losses_of(network, tiled.images, fit, std::span(images->indices).first(count));
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t i = 0; i < count; ++i) {
      const ImageTile& tile = tiled.tiles[static_cast<size_t>(images->indices[i])];
      boxes[i] = objects_in_tile(candidates[i], options.nms, tile, fit);
    }
    for (size_t i = 0; i < count; ++i) {
      const int picture = tiled.picture[static_cast<size_t>(images->indices[i])];
      if (picture != open.index) {
        if (!close()) return false;
        open = {.index = picture, .boxes = {}, .losses = {}};
      }
      ++open.tiles;
      open.boxes.insert(open.boxes.end(), boxes[i].begin(), boxes[i].end());
      if (losses) open.losses.push_back(tile_losses[i]);
    }
  }
  return close();
}

}  // namespace brightnet
