#include "detect/detect.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "core/clock.h"
#include "core/error.h"
#include "detect/frame_loader.h"
#include "detect/tiles.h"

namespace brightnet {
namespace {

/// Runs NMS on an image's candidates, after removing classes that are not wanted.
void find_objects(std::vector<Detection> candidates, const InputFit& fit, const NmsOptions& nms,
                  const std::vector<bool>& classes, FoundObjects& found) {
  keep_classes(candidates, classes);
  const cv::Size size = found.frame.image.size();
  found.uncut = objects_in_image(std::move(candidates), nms, size.width, size.height, fit);
  found.boxes = cut_at_border(found.uncut, size.width, size.height);
}

}  // namespace

std::string StageTimes::text(int64_t images, int workers) const {
  const double per_image = 1e3 / static_cast<double>(std::max<int64_t>(1, images));
  return fmt::format(
      "{:.1f} images/s; ms an image: decode {:.2f}, prepare {:.2f}, network {:.2f}, NMS {:.2f}, "
      "output {:.2f} ({} {})",
      clock > 0 ? static_cast<double>(images) / clock : 0.0, decode * per_image, prepare * per_image,
      network * per_image, nms * per_image, output * per_image, workers,
      workers == 1 ? "thread decodes and prepares" : "threads decode and prepare");
}

DetectReport detect(InferenceNetwork& inference, Source& source, const DetectOptions& options,
                    const std::vector<bool>& classes, const std::function<bool(const FoundObjects&)>& sink) {
  const InputFit whole = inference.fit();
  const auto& setup = inference.network().setup();
  DetectReport report;
  StageTimes& times = report.times;
  const double start = seconds_now();
  std::optional<TileDetector> tiles;
  if (options.tiles) tiles.emplace(inference, options, classes);
  // The tiles of a single frame make the network's batches.
  FrameLoader loader(source, {.batch = tiles ? 1 : setup.batch,
                              .fit = whole,
                              .workers = options.workers,
                              .rect_stride = options.rect ? setup.model->stride : 0,
                              .decode_only = tiles.has_value()});
  bool wanted = true;
  while (FrameLoader::Frames* batch = wanted ? loader.next() : nullptr) {
    double now = seconds_now();
    const auto took = [&now](double& stage) {
      const double before = now;
      now = seconds_now();
      stage += now - before;
    };
    InputFit fit = whole;
    std::vector<std::vector<Detection>> candidates;
    if (!tiles) {
      Network& network = options.rect ? options.rect(batch->size) : inference.network();
      fit.size = batch->size;
      if (batch->values) {
        network.set_values(batch->values);
      } else {
        network.set_pixels(batch->pixels);
      }
      network.infer();
      candidates = network.detections(options.nms.score);
      took(times.network);
    }

    std::vector<FoundObjects> found(batch->frames.size());
    for (size_t i = 0; i < found.size(); ++i) found[i].frame = std::move(batch->frames[i]);
    if (tiles) {
      for (FoundObjects& image : found) {
        if (image.frame.failure.empty()) image.boxes = image.uncut = tiles->find(image.frame.image, times);
      }
      now = seconds_now();
    } else {
      // Dynamic schedule: the number of candidates varies by image.
#pragma omp parallel for schedule(dynamic, 1)
      for (size_t i = 0; i < found.size(); ++i) {
        if (found[i].frame.failure.empty())
          find_objects(std::move(candidates[i]), fit, options.nms, classes, found[i]);
      }
      took(times.nms);
    }

    for (size_t i = 0; i < found.size() && wanted; ++i) {
      const FoundObjects& image = found[i];
      if (!image.frame.failure.empty()) {
        report.skipped.push_back({image.frame.file, image.frame.failure});
        continue;
      }
      ++report.images;
      report.objects += std::ssize(image.boxes);
      wanted = sink(image);
    }
    took(times.output);
  }
  times.clock = seconds_now() - start;
  times.decode = loader.decoding_seconds();
  times.prepare += loader.preparing_seconds();
  return report;
}

std::vector<bool> parse_class_filter(const std::vector<std::string>& wanted,
                                     const std::vector<std::string>& names) {
  if (wanted.empty()) return {};
  std::vector<bool> filter(names.size(), false);
  for (const std::string& word : wanted) {
    const auto named = std::find(names.begin(), names.end(), word);
    size_t id = static_cast<size_t>(named - names.begin());
    if (named == names.end()) {
      const char* end = word.data() + word.size();
      const auto [stopped, failed] = std::from_chars(word.data(), end, id);
      if (failed != std::errc() || stopped != end) {
        const std::string nearest = nearest_word(word, names);
        throw InputError("class '" + word + "' is not one of the model's " + std::to_string(names.size()),
                         "--classes",
                         nearest.empty() ? fmt::format("They are: {}.", fmt::join(names, ", "))
                                         : "Did you mean '" + nearest + "'?");
      }
      if (id >= names.size()) {
        throw InputError(
            fmt::format("there is no class {}: the model has {}, counted from 0", id, names.size()),
            "--classes");
      }
    }
    filter[id] = true;
  }
  return filter;
}

}  // namespace brightnet
