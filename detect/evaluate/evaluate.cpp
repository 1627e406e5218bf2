#include "detect/evaluate/evaluate.h"

#include <algorithm>
#include <cstring>
#include <ranges>

#include "data/augment/boxes.h"
#include "data/loader/evaluation_loader.h"
#include "data/loader/rect_batches.h"
#include "detect/evaluate/tiled.h"

namespace brightnet {

std::vector<ScoredBox> objects_in_image(std::vector<Detection> candidates, const NmsOptions& nms, int width,
                                        int height, const InputFit& fit) {
  const Placement placement = place(width, height, fit);
  const auto input_w = static_cast<float>(fit.size.width), input_h = static_cast<float>(fit.size.height);
  const auto w = static_cast<float>(width), h = static_cast<float>(height);
  const float across = input_w / (placement.scale_x * w), down = input_h / (placement.scale_y * h);
  for (Box& box : std::views::transform(candidates, &Detection::box)) {
    box.x = (box.x - placement.offset_x / input_w) * across;
    box.y = (box.y - placement.offset_y / input_h) * down;
    box.w *= across;
    box.h *= down;
  }
  std::vector<ScoredBox> objects;
  for (const auto& [box, class_id, score] : non_max_suppression(candidates, nms)) {
    objects.push_back({(box.x - box.w / 2) * w, (box.y - box.h / 2) * h, (box.x + box.w / 2) * w,
                       (box.y + box.h / 2) * h, class_id, score});
  }
  return objects;
}

std::vector<ScoredBox> cut_at_border(std::vector<ScoredBox> boxes, int width, int height) {
  const auto w = static_cast<float>(width), h = static_cast<float>(height);
  for (ScoredBox& box : boxes) {
    box.x1 = std::clamp(box.x1, 0.0f, w);
    box.y1 = std::clamp(box.y1, 0.0f, h);
    box.x2 = std::clamp(box.x2, 0.0f, w);
    box.y2 = std::clamp(box.y2, 0.0f, h);
  }
  std::erase_if(boxes, [](const ScoredBox& box) { return box.x2 <= box.x1 || box.y2 <= box.y1; });
  return boxes;
}

std::vector<YoloLoss> losses_of(Network& network, const Dataset& dataset, const InputFit& fit,
                                std::span<const int> images) {
  std::vector<std::vector<Truth>> truths(images.size());
  for (size_t i = 0; i < images.size(); ++i) {
    const ImageRecord& record = dataset.images[static_cast<size_t>(images[i])];
    place_boxes(record.annotations, place(record.width, record.height, fit), fit.size, truths[i]);
  }
  return network.loss(truths);
}

bool detect_images(Network& whole, const Dataset& dataset, const InputFit& whole_fit,
                   const DetectOptions& options, RankPart part, const DetectionSink& sink,
                   std::vector<YoloLoss>* losses) {
  if (options.tiles) return detect_in_tiles(whole, dataset, whole_fit, options, part, sink, losses);
  const int batch = whole.setup().batch;
  BRIGHTNET_CHECK(
      whole.setup().size() == whole_fit.size && whole.setup().model->channels == whole_fit.channels,
      "images are fitted to another input size");
  std::vector<int> order;
  for (int i = part.rank; i < static_cast<int>(dataset.images.size()); i += part.ranks) {
    order.push_back(i);
  }
  if (losses) losses->assign(order.size(), {});
  RectBatches batches{std::move(order), {}};
  if (options.rect) {
    BRIGHTNET_CHECK(whole_fit.letterbox, "images fill a rectangular batch by a letterbox");
    batches =
        rect_batches(dataset, std::move(batches.order), batch, whole_fit.size, whole.setup().model->stride);
  }
  EvaluationLoader loader(dataset, batches.order, batch, whole_fit, options.workers, batches.sizes);
  std::vector<std::vector<ScoredBox>> boxes(static_cast<size_t>(batch));
  while (const EvaluationLoader::Images* images = loader.next()) {
    Network& network = options.rect ? options.rect(images->size) : whole;
    InputFit fit = whole_fit;
    fit.size = images->size;
    if (images->values) {
      network.set_values(images->values);
    } else {
      network.set_pixels(images->pixels);
    }
    network.infer();
    const auto candidates = network.detections(options.nms.score);
    if (losses) {
      const auto seen = std::span(images->indices).first(static_cast<size_t>(images->count));
      const std::vector<YoloLoss> of_batch = losses_of(network, dataset, fit, seen);
      for (size_t i = 0; i < seen.size(); ++i)
        (*losses)[static_cast<size_t>(seen[i] / part.ranks)] = of_batch[i];
    }
    // Images are independent; their numbers of candidates vary.
#pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < images->count; ++i) {
      const ImageRecord& record =
          dataset.images[static_cast<size_t>(images->indices[static_cast<size_t>(i)])];
      boxes[static_cast<size_t>(i)] = cut_at_border(
          objects_in_image(candidates[static_cast<size_t>(i)], options.nms, record.width, record.height, fit),
          record.width, record.height);
    }
    for (int i = 0; i < images->count; ++i) {
      if (!sink(images->indices[static_cast<size_t>(i)], boxes[static_cast<size_t>(i)])) return false;
    }
  }
  return true;
}

namespace {

/// Merges the other ranks' records. False when any rank has not finished its own part.
bool share(DetectionEvaluator& evaluator, bool whole, const EvaluationRanks& ranks) {
  if (!ranks.all_gather) return whole;
  const auto all = ranks.all_gather(whole ? '+' + evaluator.serialize() : "-");
  if (std::any_of(all.begin(), all.end(), [](const auto& of_rank) { return of_rank[0] != '+'; }))
    return false;
  for (int rank = 0; rank < ranks.part.ranks; ++rank) {
    if (rank != ranks.part.rank) evaluator.merge(std::string_view(all[static_cast<size_t>(rank)]).substr(1));
  }
  return true;
}

/// Over the images of all ranks, in their order: image i is rank i's modulo the number of ranks.
std::optional<MeanLoss> loss_of_all_ranks(const std::vector<YoloLoss>& own, size_t images,
                                          const EvaluationRanks& ranks) {
  const std::string bytes(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(YoloLoss));
  const auto all = ranks.all_gather ? ranks.all_gather(bytes) : std::vector{bytes};
  LossTotals totals;
  for (size_t i = 0; i < images; ++i) {
    YoloLoss loss;
    const size_t at = i / all.size() * sizeof loss;
    const std::string& of_rank = all[i % all.size()];
    BRIGHTNET_CHECK(at + sizeof loss <= of_rank.size(), "a rank has not computed the losses of its images");
    std::memcpy(&loss, of_rank.data() + at, sizeof loss);
    add_loss(totals, loss);
  }
  if (images == 0) return std::nullopt;
  return mean_loss(totals);
}

void together(const EvaluationRanks& ranks, const std::function<void()>& work) {
  if (ranks.together) return ranks.together(work);
  work();
}

}  // namespace

std::optional<Metrics> evaluate(Network& network, const Dataset& dataset, const InputFit& fit,
                                const DetectOptions& options, const DetectionSink& sink,
                                const EvaluationRanks& ranks) {
  DetectionEvaluator evaluator(dataset.classes);
  const bool wants_loss = network.setup().loss_of_inference;
  std::vector<YoloLoss> losses;
  const auto add = [&](int index, std::span<const ScoredBox> boxes) {
    const ImageRecord& record = dataset.images[static_cast<size_t>(index)];
    evaluator.add(record.id, boxes, record.annotations);
    return !sink || sink(index, boxes);
  };
  bool whole = false;
  Metrics metrics;
  together(ranks, [&] {
    whole = detect_images(network, dataset, fit, options, ranks.part, add, wants_loss ? &losses : nullptr);
  });
  if (!share(evaluator, whole, ranks)) return std::nullopt;
  together(ranks, [&] { metrics = evaluator.finish(); });
  if (wants_loss) metrics.loss = loss_of_all_ranks(losses, dataset.images.size(), ranks);
  return metrics;
}

}  // namespace brightnet
