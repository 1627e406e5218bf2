#include "brightnet/detector.h"

#include <limits>
#include <mutex>
#include <utility>

#include "brightnet/pixels.h"
#include "core/dtype.h"
#include "core/log.h"
#include "detect/detect.h"
#include "detect/option_ranges.h"
#include "kernels/device/device.h"

namespace brightnet {
namespace {

/// Without threads of its own to prepare images: the caller's does it, as a service has threads enough.
constexpr int workers = 0;

Precision precision_of(const DeviceOptions& options) {
  return options.precision == "auto" ? Precision::fp32 : parse_precision(options.precision);
}

NmsOptions nms_of(const Model& model, const DetectorOptions& options) {
  NmsOptions nms{.kind = NmsMethod::model, .score = options.confidence};
  if (options.nms >= 0) nms.iou = options.nms;
  nms.max_detections = options.max_objects > 0 ? options.max_objects : std::numeric_limits<int>::max();
  return for_model(nms, model);
}

void check(const DetectorOptions& options) {
  const OptionRanges ranges("DetectorOptions");
  check_detection(ranges, options);
  if (!(options.nms < 0)) ranges.within(0, 1, "nms", options.nms);
  ranges.at_least(1, "batch", options.batch);
}

}  // namespace

class Detector::Implementation {
 public:
  Implementation(const Weights& weights, const DetectorOptions& options)
      : weights_(weights),
        backend_(open_device(options.device.device, precision_of(options.device))),
        inference_(weights.trained(), *backend_,
                   {.precision = precision_of(options.device),
                    .batch = options.batch,
                    .size = InputSize(options.height, options.width)}),
        pipeline_(inference_.engine(), inference_.fit(),
                  {.nms = nms_of(weights.trained().model, options),
                   .workers = workers,
                   .classes = parse_class_filter(options.classes, weights.classes())}) {}

  std::vector<std::vector<DetectedObject>> detect(std::span<const Image> images) {
    std::vector<PixelImage> pixels;
    for (const Image& image : images) pixels.push_back(pixels_of(image));
    MemorySource source(pixels);
    std::vector<std::vector<DetectedObject>> found;
    const std::lock_guard lock(mutex_);
    const cuda::KeptGpu kept(on_gpu());
    pipeline_.run(source, [&found](FoundObjects& objects) {
      std::vector<DetectedObject>& of_image = found.emplace_back();
      for (const ScoredBox& box : objects.boxes)
        of_image.push_back({box.x1, box.y1, box.x2, box.y2, box.class_id, box.score});
      return true;
    });
    return found;
  }

  const Weights& weights() const { return weights_; }
  bool on_gpu() const { return backend_->works_beside_host(); }

 private:
  Weights weights_;
  std::unique_ptr<Backend> backend_;
  InferenceNetwork inference_;
  Pipeline pipeline_;
  std::mutex mutex_;  ///< the network and the pipeline have one image at a time
};

Detector::Detector(const Weights& weights, const DetectorOptions& options) {
  check(options);
  const cuda::KeptGpu kept(options.device.device != "cpu");
  implementation_ = std::make_unique<Implementation>(weights, options);
  if (const auto tiles = weights.training().find("tiles"); tiles != weights.training().end())
    log::warn(
        "These weights were trained on tiles of larger pictures ({0}), and a Detector looks at whole images: give it such "
        "tiles of larger pictures, or use the program's `brightnet detect --tiles {0}`, which merges what they show.",
        tiles->second);
}

Detector::~Detector() {
  const cuda::KeptGpu kept(implementation_ && implementation_->on_gpu());
  implementation_.reset();
}
Detector::Detector(Detector&&) noexcept = default;
Detector& Detector::operator=(Detector&& other) noexcept {
  const cuda::KeptGpu kept(implementation_ && implementation_->on_gpu());
  implementation_ = std::move(other.implementation_);
  return *this;
}

std::vector<DetectedObject> Detector::detect(const Image& image) const {
  return std::move(implementation_->detect({&image, 1}).front());
}

std::vector<std::vector<DetectedObject>> Detector::detect(std::span<const Image> images) const {
  return implementation_->detect(images);
}

const Weights& Detector::weights() const {
  return implementation_->weights();
}

}  // namespace brightnet
