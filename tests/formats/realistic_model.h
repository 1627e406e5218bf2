// Networks that behave like trained ones without having been trained: random convolutions whose batch-norm
// statistics are those of a real picture, so that activations keep their scale to the last layer and scores
// spread over (0, 1). With fresh weights every score is the prior, and an export could lose half of a
// network unnoticed.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <opencv2/core.hpp>

#include "core/random.h"
#include "data/image/grey.h"
#include "data/synth/synth.h"
#include "detect/nms.h"
#include "formats/weights.h"
#include "layers/network.h"
#include "tests/layers/models.h"

namespace brightnet::testing {

struct RealisticModel {
  TrainedModel trained;
  cv::Mat image;  ///< what the statistics are of: 8-bit RGB, trained.size pixels wide and high
};

/// Scales, shifts and biases as training leaves them, and heads whose logits spread.
inline std::vector<float> uneven_parameters(const Model& model, const ParameterLayout& layout,
                                            uint64_t seed) {
  std::vector<float> values = initial_parameters(model, layout, seed);
  const auto vary = [&](const ParameterEntry& entry, auto&& change) {
    Random random(seed, Purpose::test, static_cast<uint64_t>(entry.kind), static_cast<uint64_t>(entry.layer));
    for (size_t i = 0; i < entry.count; ++i) change(random, values[entry.offset + i]);
  };
  for (const auto& entry : layout.entries()) {
    if (entry.kind == ParameterKind::scale)
      vary(entry, [](Random& random, float& x) { x = random.uniform(0.6f, 1.4f); });
    if (entry.kind == ParameterKind::bias)
      vary(entry, [](Random& random, float& x) { x = 0.2f * random.normal(); });
    // Mostly above 0, where activations are nearly straight. A hundred random layers around 0 are chaotic:
    // they blow the last bit of a first weight up to 1 % of a logit, and no two programs could agree.
    if (entry.kind == ParameterKind::shift)
      vary(entry, [](Random& random, float& x) { x = 1.2f + 0.2f * random.normal(); });
    // A forward pass moves these towards the batch's by a known fraction: from 0, to that fraction of them.
    if (entry.kind == ParameterKind::running_variance) vary(entry, [](Random&, float& x) { x = 0; });
  }
  for (const auto& layer : model.layers) {
    const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes);
    if (!yolo) continue;
    const std::string& source = model.layers[layer.inputs[0]].name;
    const ParameterEntry* weight = layout.find(source + ".weight");
    const ParameterEntry* bias = layout.find(source + ".bias");
    if (!weight || !bias) continue;
    const size_t inputs = weight->count / bias->count;
    for (size_t channel = 0; channel < bias->count; ++channel) {
      const size_t value = channel % static_cast<size_t>(yolo->head.values());
      const bool size = value == 2 || value == 3;
      // initial_parameters() makes heads ten times smaller than He's deviation.
      for (size_t i = 0; i < inputs; ++i)
        values[weight->offset + channel * inputs + i] *= size ? 4.0f : 14.0f;
      if (value == 4) values[bias->offset + channel] -= 2.0f;
    }
  }
  return values;
}

/// `model` with statistics of a synthetic picture of these pixels, RGB or grey as the model takes it. Deterministic.
inline RealisticModel realistic_model(Model model, const InputSize& size, uint64_t seed = 1) {
  SynthOptions options;
  options.seed = seed;
  options.size = size.longer();
  RealisticModel made;
  made.trained.model = std::move(model);
  made.trained.size = size;
  for (int i = 0; i < made.trained.model.classes; ++i)
    made.trained.classes.push_back("class " + std::to_string(i));
  made.trained.layout = ParameterLayout(made.trained.model);
  made.image =
      draw_synthetic_image(options, Split::train, 0).pixels(cv::Rect(0, 0, size.width, size.height)).clone();
  if (made.trained.model.channels == 1) made.image = grey_of(made.image);
  BRIGHTNET_CHECK(made.image.isContinuous(), "a picture with gaps between its rows");

  const auto backend = make_cpu_backend();
  made.trained.values = uneven_parameters(made.trained.model, made.trained.layout, seed);
  Parameters parameters{.layout = &made.trained.layout, .values = made.trained.values.data()};
  Network network({.model = &made.trained.model,
                   .backend = backend.get(),
                   .parameters = &parameters,
                   .batch = 1,
                   .height = size.height,
                   .width = size.width,
                   .precision = Precision::fp32,
                   .mode = Mode::train});
  const DeviceBuffer arena(*backend, network.memory().arena());
  network.bind(arena.data());
  network.set_batch(made.image.data, std::vector<std::vector<Truth>>(1));
  network.forward();
  backend->synchronize();
  for (const auto& entry : made.trained.layout.entries()) {
    if (entry.kind != ParameterKind::running_mean && entry.kind != ParameterKind::running_variance) continue;
    for (size_t i = 0; i < entry.count; ++i) made.trained.values[entry.offset + i] /= batch_norm_momentum;
  }
  return made;
}

/// What the fp32 network sees in `values` (the input's, RGB in [0, 1]), or in the model's own picture if none
/// are given: candidates above `score`, before suppression.
inline std::vector<Detection> candidates_of(const RealisticModel& made, float score,
                                            const float* values = nullptr) {
  const auto backend = make_cpu_backend();
  Parameters parameters{.layout = &made.trained.layout,
                        .values = const_cast<float*>(made.trained.values.data())};
  Network network({.model = &made.trained.model,
                   .backend = backend.get(),
                   .parameters = &parameters,
                   .batch = 1,
                   .height = made.trained.size.height,
                   .width = made.trained.size.width,
                   .precision = Precision::fp32,
                   .mode = Mode::infer});
  const DeviceBuffer arena(*backend, network.memory().arena());
  network.bind(arena.data());
  if (values) {
    network.set_values(values);
  } else {
    network.set_pixels(made.image.data);
  }
  network.infer();
  return network.detections(score)[0];
}

inline float iou_of(const Box& a, const Box& b) {
  const float w = std::min(a.x + a.w / 2, b.x + b.w / 2) - std::max(a.x - a.w / 2, b.x - b.w / 2);
  const float h = std::min(a.y + a.h / 2, b.y + b.h / 2) - std::max(a.y - a.h / 2, b.y - b.h / 2);
  return w <= 0 || h <= 0 ? 0 : w * h / (a.w * a.h + b.w * b.h - w * h);
}

/// Those of `some` above `score` that have no like among `others`: the same class, IoU ≥ 0.999, scores within
/// 1e-3. `others` reach a little below `score`, so that one at the threshold finds its like.
inline std::vector<Detection> without_like(const std::vector<Detection>& some,
                                           const std::vector<Detection>& others, float score) {
  std::vector<Detection> alone;
  for (const Detection& d : some) {
    if (d.score < score) continue;
    const bool matched = std::any_of(others.begin(), others.end(), [&](const Detection& o) {
      return o.class_id == d.class_id && std::abs(o.score - d.score) <= 1e-3f &&
             iou_of(o.box, d.box) >= 0.999f;
    });
    if (!matched) alone.push_back(d);
  }
  return alone;
}

/// Every detection of `expected` above `score` has its like among `found`, and the other way round.
inline void expect_same_detections(const std::vector<Detection>& expected,
                                   const std::vector<Detection>& found, float score) {
  const auto expect_none = [](const std::vector<Detection>& alone, const char* what) {
    for (const Detection& d : alone) {
      ADD_FAILURE() << what << ": class " << d.class_id << ", score " << d.score << ", box " << d.box.x << ' '
                    << d.box.y << ' ' << d.box.w << ' ' << d.box.h;
    }
  };
  expect_none(without_like(expected, found, score), "not found");
  expect_none(without_like(found, expected, score), "found, but not by us");
}

/// Suppression compares scores with scores and overlaps with a limit. Where two programs would decide by
/// their rounding alone, which box stays is chance; so of every such pair of `ours` the lower one is taken
/// out, and what is like it out of `theirs`. What suppression then leaves must be the same.
inline void remove_near_ties(std::vector<Detection>& ours, std::vector<Detection>& theirs, float iou_limit) {
  constexpr float same_score = 1e-4f, same_iou = 5e-4f;
  std::stable_sort(ours.begin(), ours.end(),
                   [](const Detection& a, const Detection& b) { return a.score > b.score; });
  std::vector<Detection> kept;
  for (const Detection& d : ours) {
    const bool tied = std::any_of(kept.begin(), kept.end(), [&](const Detection& better) {
      if (better.class_id != d.class_id) return false;
      const float iou = iou_of(better.box, d.box);
      return std::abs(iou - iou_limit) < same_iou || (iou > iou_limit && better.score - d.score < same_score);
    });
    if (!tied) {
      kept.push_back(d);
      continue;
    }
    const auto difference = [&](const Detection& other) {
      return other.class_id == d.class_id ? std::abs(other.score - d.score) + 1 - iou_of(other.box, d.box)
                                          : std::numeric_limits<float>::infinity();
    };
    const auto like = std::min_element(theirs.begin(), theirs.end(), [&](const auto& a, const auto& b) {
      return difference(a) < difference(b);
    });
    if (like != theirs.end() && difference(*like) < 2e-3f) theirs.erase(like);
  }
  ours = std::move(kept);
}

}  // namespace brightnet::testing
