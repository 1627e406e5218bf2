#include "detect/tiles.h"

#include <algorithm>

#include <omp.h>

#include "core/clock.h"
#include "core/threads.h"
#include "detect/evaluate/merge_tiles.h"
#include "detect/evaluate/tiled.h"

namespace brightnet {

void keep_classes(std::vector<Detection>& candidates, const std::vector<bool>& classes) {
  if (classes.empty()) return;
  std::erase_if(candidates, [&](const Detection& candidate) {
    return !classes[static_cast<size_t>(candidate.class_id)];
  });
}

TileDetector::TileDetector(InferenceNetwork& inference, const DetectOptions& options,
                           const std::vector<bool>& classes)
    : inference_(inference),
      options_(options),
      classes_(classes),
      fillers_(static_cast<size_t>(std::max(compute_threads(), omp_get_max_threads()))) {
  const size_t values =
      values_of_input(inference.fit()) * static_cast<size_t>(inference.network().setup().batch);
  as_darknet(inference.fit().resize) ? values_.resize(values) : pixels_.resize(values);
}

std::vector<ScoredBox> TileDetector::find(const cv::Mat& image, StageTimes& times) {
  const std::vector<ImageTile> tiles = tiles_of(image.cols, image.rows, options_.tiles);
  const std::span<const ImageTile> all = tiles;
  const auto batch = static_cast<size_t>(inference_.network().setup().batch);
  std::vector<ScoredBox> boxes;
  for (size_t i = 0; i < all.size(); i += batch)
    run(image, all.subspan(i, std::min(batch, all.size() - i)), times, boxes);
  if (tiles.size() == 1) return boxes;
  const double begin = seconds_now();
  boxes = merge_tiles(std::move(boxes), options_.tiles, options_.nms.max_detections);
  times.nms += seconds_now() - begin;
  return boxes;
}

void TileDetector::run(const cv::Mat& image, std::span<const ImageTile> tiles, StageTimes& times,
                       std::vector<ScoredBox>& boxes) {
  const InputFit fit = inference_.fit();
  Network& network = inference_.network();
  double now = seconds_now();
  const auto took = [&now](double& stage) {
    const double before = now;
    now = seconds_now();
    stage += now - before;
  };
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < tiles.size(); ++i) {
    const cv::Mat part = image(cv::Rect(tiles[i].x, tiles[i].y, tiles[i].width, tiles[i].height));
    const size_t at = i * values_of_input(fit);
    InputFiller& fill = fillers_[static_cast<size_t>(omp_get_thread_num())];
    if (as_darknet(fit.resize)) {
      fill(part, fit, values_.data() + at);
    } else {
      fill(part, fit, pixels_.data() + at);
    }
  }
  took(times.prepare);
  if (as_darknet(fit.resize)) {
    network.set_values(values_.data());
  } else {
    network.set_pixels(pixels_.data());
  }
  network.infer();
  auto candidates = network.detections(options_.nms.score);
  took(times.network);
  for (size_t i = 0; i < tiles.size(); ++i) {
    keep_classes(candidates[i], classes_);
    const auto found = objects_in_tile(std::move(candidates[i]), options_.nms, tiles[i], fit);
    boxes.insert(boxes.end(), found.begin(), found.end());
  }
  took(times.nms);
}

}  // namespace brightnet
