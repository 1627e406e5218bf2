#include "train/evaluate.h"

#include <algorithm>
#include <numeric>

#include "data/loader.h"

namespace brightnet {

std::vector<ScoredBox> boxes_in_image(const std::vector<Detection>& detections, int width, int height,
                                      int size, bool letterbox) {
  const Placement placement = place(width, height, size, letterbox);
  const auto side = static_cast<float>(size);
  const auto across = [&](float x) {
    return std::clamp((x * side - placement.offset_x) / placement.scale_x, 0.0f, static_cast<float>(width));
  };
  const auto down = [&](float y) {
    return std::clamp((y * side - placement.offset_y) / placement.scale_y, 0.0f, static_cast<float>(height));
  };
  std::vector<ScoredBox> boxes;
  boxes.reserve(detections.size());
  for (const auto& [box, class_id, score] : detections) {
    const ScoredBox scored{across(box.x - box.w / 2),
                           down(box.y - box.h / 2),
                           across(box.x + box.w / 2),
                           down(box.y + box.h / 2),
                           class_id,
                           score};
    if (scored.x2 > scored.x1 && scored.y2 > scored.y1) boxes.push_back(scored);
  }
  return boxes;
}

bool detect_images(Network& network, const Dataset& dataset, const DetectionOptions& options,
                   const DetectionSink& sink) {
  const int batch = network.setup().batch, size = network.setup().width;
  BRIGHTNET_CHECK(network.setup().height == size, "images are evaluated on a square input");
  std::vector<int> order(dataset.images.size());
  std::iota(order.begin(), order.end(), 0);
  EvaluationLoader loader(dataset, std::move(order), batch, size, options.letterbox, options.workers);
  std::vector<std::vector<ScoredBox>> boxes(static_cast<size_t>(batch));
  while (const EvaluationLoader::Images* images = loader.next()) {
    network.set_pixels(images->pixels);
    network.infer();
    const auto candidates = network.detections(options.nms.score);
    // Images are independent; how many candidates each has is not known before.
#pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < images->count; ++i) {
      const ImageRecord& record =
          dataset.images[static_cast<size_t>(images->indices[static_cast<size_t>(i)])];
      boxes[static_cast<size_t>(i)] =
          boxes_in_image(non_max_suppression(candidates[static_cast<size_t>(i)], options.nms), record.width,
                         record.height, size, options.letterbox);
    }
    for (int i = 0; i < images->count; ++i) {
      if (!sink(images->indices[static_cast<size_t>(i)], boxes[static_cast<size_t>(i)])) return false;
    }
  }
  return true;
}

std::optional<Metrics> evaluate(Network& network, const Dataset& dataset, const DetectionOptions& options,
                                const DetectionSink& sink) {
  DetectionEvaluator evaluator(dataset.classes);
  const bool whole =
      detect_images(network, dataset, options, [&](int index, std::span<const ScoredBox> boxes) {
        const ImageRecord& record = dataset.images[static_cast<size_t>(index)];
        evaluator.add(record.id, boxes, record.annotations);
        return !sink || sink(index, boxes);
      });
  if (!whole) return std::nullopt;
  return evaluator.finish();
}

}  // namespace brightnet
