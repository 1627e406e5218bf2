#include "brightnet/frames.h"

#include <algorithm>

#include <opencv2/imgproc.hpp>

#include "brightnet/pixels.h"
#include "core/error.h"
#include "core/log.h"
#include "data/drawing/draw.h"
#include "data/image/codecs.h"
#include "detect/option_ranges.h"
#include "detect/sources/source.h"
#include "formats/weights.h"

namespace brightnet {
namespace {

Picture picture_of(const cv::Mat& rgb) {
  const auto kept = std::make_shared<cv::Mat>(rgb.isContinuous() ? rgb : rgb.clone());
  return {.pixels = {kept, kept->data}, .height = kept->rows, .width = kept->cols};
}

/// Throws InputError for numbers without a meaning.
SourceOptions source_options(const FrameOptions& options) {
  check_frames(OptionRanges("FrameOptions"), options);
  return {.frames = options.frames, .every = options.every, .max_pixels = options.max_pixels};
}

/// Throws InputError for options that have no effect on this source.
void refuse_idle(const FrameOptions& options, const Source& source, const std::string& name) {
  const auto& files = source.files();
  if (source.live() || std::any_of(files.begin(), files.end(), is_video_name)) return;
  if (options.frames > 0 || options.every > 1) {
    throw InputError("frames and every are for videos, cameras and streams, and there is none in it", name,
                     "Leave them out.");
  }
}

/// The image as RGB, in memory of its own. Throws InputError for one without pixels.
cv::Mat copy_of(const Image& image) {
  const PixelImage pixels = pixels_of(image);
  MemorySource source({&pixels, 1});
  Frame frame;
  source.next(frame);
  if (frame.image.channels() == 3 && !frame.bgr) return frame.image.clone();
  cv::Mat rgb;
  cv::cvtColor(frame.image, rgb, frame.bgr ? cv::COLOR_BGR2RGB : cv::COLOR_GRAY2RGB);
  return rgb;
}

}  // namespace

class Frames::Implementation {
 public:
  Implementation(const Weights& weights, const std::string& source, const FrameOptions& options)
      : weights_(weights),
        source_(open_source(source, source_options(options))),
        // A folder, a pattern or a list may contain a single image too.
        is_image_(source_->files().size() == 1 && source_->files()[0] == source && !is_video_name(source)) {
    refuse_idle(options, *source_, source);
  }

  bool is_image() const { return is_image_; }
  bool live() const { return source_->live(); }

  Picture next() {
    for (Frame frame; source_->next(frame);) {
      source_->decode(frame, weights_.trained().fit());
      if (frame.failure.empty()) {
        Picture picture = picture_of(frame.image);
        picture.file = frame.file;
        picture.number = frame.number;
        return picture;
      }
      if (is_image_) throw InputError(frame.failure, frame.file);
      log::warn("Skipped {}: {}.", frame.file, frame.failure);
    }
    return {};
  }

 private:
  Weights weights_;
  std::unique_ptr<Source> source_;
  bool is_image_;
};

Frames::Frames(const Weights& weights, const std::string& source, const FrameOptions& options)
    : implementation_(std::make_unique<Implementation>(weights, source, options)) {}

Frames::~Frames() = default;
Frames::Frames(Frames&&) noexcept = default;
Frames& Frames::operator=(Frames&&) noexcept = default;

bool Frames::is_image() const {
  return implementation_->is_image();
}
bool Frames::live() const {
  return implementation_->live();
}
Picture Frames::next() {
  return implementation_->next();
}

Picture draw_objects(const Image& image, std::span<const DetectedObject> objects,
                     const std::vector<std::string>& classes) {
  cv::Mat rgb = copy_of(image);
  std::vector<ScoredBox> boxes;
  for (const DetectedObject& object : objects) {
    if (object.class_id < 0 || object.class_id >= std::ssize(classes))
      throw InputError("an object has a class without a name", "draw_objects()");
    boxes.push_back({object.x1, object.y1, object.x2, object.y2, object.class_id, object.score});
  }
  draw_detections(rgb, boxes, classes);
  return picture_of(rgb);
}

std::vector<uint8_t> encode_png(const Image& image) {
  cv::Mat bgr;
  cv::cvtColor(copy_of(image), bgr, cv::COLOR_RGB2BGR);
  std::vector<uint8_t> bytes;
  BRIGHTNET_CHECK(encode_image(".png", bgr, bytes), "OpenCV encoded no PNG");
  return bytes;
}

}  // namespace brightnet
