#include "detect/pipeline.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/clock.h"
#include "core/error.h"
#include "detect/merge_tiles.h"
#include "detect/objects.h"

namespace brightnet {
namespace {

void move(std::vector<ScoredBox>& boxes, int x, int y) {
  for (ScoredBox& box : boxes) {
    box.x1 += x;
    box.x2 += x;
    box.y1 += y;
    box.y2 += y;
  }
}

}  // namespace

std::string StageTimes::text(int64_t images, int workers) const {
  const double per_image = 1e3 / (std::max<int64_t>(1, images));
  return fmt::format(
      "{:.1f} images/s; ms an image: decode {:.2f}, prepare {:.2f}, network {:.2f}, NMS {:.2f}, "
      "output {:.2f} ({} {})",
      clock > 0 ? images / clock : 0.0, decode * per_image, prepare * per_image, network * per_image,
      nms * per_image, output * per_image, workers,
      workers == 1 ? "thread decodes and prepares" : "threads decode and prepare");
}

Pipeline::Pipeline(InferenceEngine& engine, const InputFit& fit, PipelineOptions options, TruthsOf truths)
    : engine_(engine), fit_(fit), options_(std::move(options)), truths_(std::move(truths)) {
  BRIGHTNET_CHECK(engine.channels() == fit.channels, "images are fitted to another kind of input");
  BRIGHTNET_CHECK(!options_.rect || (fit.letterbox && !options_.tiles),
                  "whole images fill a rectangular batch, by a letterbox");
}

bool Pipeline::run(FrameSource& source, const ObjectSink& sink, const std::stop_token& stop) {
  const double begin = seconds_now();
  InputLoader loader(source, {.batch = engine_.batch(),
                              .fit = fit_,
                              .workers = options_.workers,
                              .rect_stride = options_.rect ? engine_.stride() : 0,
                              .tiles = options_.tiles,
                              .mirrored = options_.mirrored});
  found_ = {};
  tiles_ = 0;
  bool wanted = true;
  while (const InputLoader::Batch* batch = wanted ? loader.next() : nullptr) {
    const double begun = now_ = seconds_now();
    infer(*batch);
    take(times_.network);
    find_objects(*batch);
    take(times_.nms);
    seconds_an_input_ = (now_ - begun) / batch->inputs.size();
    wanted = deliver(*batch, sink) && !stop.stop_requested();
  }
  times_.clock += seconds_now() - begin;
  times_.decode += loader.decoding_seconds();
  times_.prepare += loader.preparing_seconds();
  return wanted;
}

/// Adds the time since the last call, or since the batch arrived, to the stage.
void Pipeline::take(double& stage) {
  const double before = now_;
  now_ = seconds_now();
  stage += now_ - before;
}

/// Computes the candidates of every input and, given the ground truth, the losses.
void Pipeline::infer(const InputLoader::Batch& batch) {
  candidates_ = engine_.candidates(batch.input, batch.fit, options_.nms.score);
  if (!truths_) return;
  std::vector<std::vector<Truth>> truths(batch.inputs.size());
  for (size_t i = 0; i < truths.size(); ++i)
    truths_(*batch.inputs[i].frame, batch.inputs[i].part, batch.fit, truths[i]);
  losses_ = engine_.losses(truths);
}

/// Finds the objects of every input, in pixels of the part of the frame that it shows.
void Pipeline::find_objects(const InputLoader::Batch& batch) {
  objects_.resize(batch.inputs.size());
  const auto unwanted = [this](const Detection& candidate) { return !options_.classes[candidate.class_id]; };
  // Inputs are independent; their numbers of candidates vary.
#pragma omp parallel for schedule(dynamic, 1)
  for (size_t i = 0; i < batch.inputs.size(); ++i) {
    const auto& [frame, part, last] = batch.inputs[i];
    objects_[i].clear();
    if (!frame->failure.empty()) continue;
    if (!options_.classes.empty()) std::erase_if(candidates_[i], unwanted);
    if (options_.mirrored) {
      for (Detection& candidate : candidates_[i]) candidate.box.x = 1 - candidate.box.x;
    }
    objects_[i] =
        objects_in_image(std::move(candidates_[i]), options_.nms, part.width, part.height, batch.fit);
  }
}

/// Collects the objects of each frame and passes on the frames that are complete.
bool Pipeline::deliver(const InputLoader::Batch& batch, const ObjectSink& sink) {
  for (size_t i = 0; i < batch.inputs.size(); ++i) {
    const auto& [frame, part, last] = batch.inputs[i];
    std::vector<ScoredBox> cut = cut_at_border(objects_[i], part.width, part.height);
    if (options_.tiles) {
      move(cut, part.x, part.y);
      found_.boxes.insert(found_.boxes.end(), cut.begin(), cut.end());
    } else {
      found_.boxes = std::move(cut);
      found_.uncut = std::move(objects_[i]);
    }
    if (truths_) found_.loss += losses_[i];
    found_.seconds += seconds_an_input_;
    ++tiles_;
    if (last && !finish(std::move(*frame), sink)) return false;
  }
  return true;
}

bool Pipeline::finish(Frame frame, const ObjectSink& sink) {
  if (tiles_ > 1)
    found_.boxes = merge_tiles(std::move(found_.boxes), options_.tiles, options_.nms.max_detections,
                               options_.nms.class_agnostic);
  if (options_.tiles) found_.uncut = found_.boxes;
  found_.frame = std::move(frame);
  take(times_.nms);
  const bool wanted = sink(found_);
  take(times_.output);
  found_ = {};
  tiles_ = 0;
  return wanted;
}

}  // namespace brightnet
