#include "detect/evaluate/evaluate.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "data/augment/boxes.h"
#include "detect/rect_batches.h"
#include "detect/sources/dataset_source.h"
#include "detect/views.h"

namespace brightnet {

namespace {

/// Images of a data set on their way through the views: few enough that their boxes take no memory, and so many that the
/// threads that read them have something to do.
constexpr size_t images_at_once = 64;

/// The images of a data set that a rank evaluates.
struct RankImages {
  InferenceEngine& engine;
  const Dataset& dataset;
  RankPart part;
  std::vector<YoloLoss>* losses;  ///< losses of the part's images, in their order; null: not computed

  bool detect_once(std::vector<int> images, const InputFit& fit, const PipelineOptions& options,
                   const DetectionSink& sink, bool with_losses) const {
    DatasetSource source(dataset, std::move(images), fit, options.tiles);
    TruthsOf truths;
    if (with_losses) {
      truths = [&](const Frame& frame, const ImageTile& tile, const InputFit& input,
                   std::vector<Truth>& found) {
        const std::vector<Annotation>& all = source.record(frame).annotations;
        const Placement placement = place(tile.width, tile.height, input);
        if (tile.whole()) return place_boxes(all, placement, input.size, found);
        place_boxes(annotations_in(tile, all, options.tiles.min_visible), placement, input.size, found);
      };
    }
    Pipeline pipeline(engine, fit, options, truths);
    return pipeline.run(source, [&](const FoundObjects& found) {
      const int image = found.frame.record;
      if (with_losses) (*losses)[image / part.ranks] = found.loss;
      return sink(image, found.boxes);
    });
  }

  /// The losses are those of the first view, which is the image itself.
  bool detect_in_views(const std::vector<int>& images, const InputFit& fit, const PipelineOptions& options,
                       const DetectionSink& sink) const {
    std::map<int, std::vector<ScoredBox>> found;
    const auto add = [&](int image, std::span<const ScoredBox> boxes) {
      found[image].insert(found[image].end(), boxes.begin(), boxes.end());
      return true;
    };
    for (const InferenceView& view : options.views) {
      InputFit view_fit = fit;
      view_fit.size = view.size;
      PipelineOptions view_options = options;
      view_options.mirrored = view.mirrored;
      const bool is_image = view.size == fit.size && !view.mirrored;
      detect_once(images, view_fit, view_options, add, losses && is_image);
    }
    return std::all_of(images.begin(), images.end(), [&](int image) {
      return sink(image,
                  merge_views(std::move(found[image]), options.nms, static_cast<int>(options.views.size())));
    });
  }
};

}  // namespace

bool detect_images(InferenceEngine& engine, const Dataset& dataset, const InputFit& fit,
                   const PipelineOptions& options, RankPart part, const DetectionSink& sink,
                   std::vector<YoloLoss>* losses) {
  std::vector<int> order;
  for (int i = part.rank; i < static_cast<int>(dataset.images.size()); i += part.ranks) order.push_back(i);
  if (losses) losses->assign(order.size(), {});
  if (options.rect) order = in_order_of_ratio(dataset, std::move(order));
  const RankImages all{engine, dataset, part, losses};
  if (options.views.empty()) return all.detect_once(std::move(order), fit, options, sink, losses != nullptr);
  for (size_t begin = 0; begin < order.size(); begin += images_at_once) {
    const size_t end = std::min(order.size(), begin + images_at_once);
    const std::vector<int> images(order.begin() + static_cast<ptrdiff_t>(begin),
                                  order.begin() + static_cast<ptrdiff_t>(end));
    if (!all.detect_in_views(images, fit, options, sink)) return false;
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
    if (rank != ranks.part.rank) evaluator.merge(std::string_view(all[rank]).substr(1));
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

std::optional<Metrics> evaluate(InferenceEngine& engine, const Dataset& dataset, const InputFit& fit,
                                const PipelineOptions& options, const DetectionSink& sink,
                                const EvaluationRanks& ranks) {
  DetectionEvaluator evaluator(dataset.classes);
  const bool wants_loss = engine.computes_loss();
  std::vector<YoloLoss> losses;
  const auto add = [&](int index, std::span<const ScoredBox> boxes) {
    const ImageRecord& record = dataset.images[index];
    evaluator.add(record.id, boxes, record.annotations);
    return !sink || sink(index, boxes);
  };
  bool whole = false;
  Metrics metrics;
  together(ranks, [&] {
    whole = detect_images(engine, dataset, fit, options, ranks.part, add, wants_loss ? &losses : nullptr);
  });
  if (!share(evaluator, whole, ranks)) return std::nullopt;
  together(ranks, [&] { metrics = evaluator.finish(); });
  if (wants_loss) metrics.loss = loss_of_all_ranks(losses, dataset.images.size(), ranks);
  return metrics;
}

}  // namespace brightnet
