#include "detect/frame_loader.h"

#include <algorithm>

#include <opencv2/imgproc.hpp>

#include "core/clock.h"
#include "data/image/darknet_image.h"
#include "data/image/read_image.h"
#include "data/loader/rect_batches.h"

namespace brightnet {
namespace {

// One batch is processed while the others are prepared; live sources have fewer to limit latency.
constexpr int slots = 3;
constexpr int live_slots = 2;

void decode(Frame& frame, const InputFit& fit) {
  if (!frame.failure.empty()) return;
  if (frame.clip) {
    cv::cvtColor(frame.image, frame.image, cv::COLOR_BGR2RGB);
    return;
  }
  try {
    frame.image = as_darknet(fit.resize) ? read_darknet_image(frame.file) : read_image(frame.file);
  } catch (const ImageError& e) {
    frame.failure = e.detail();
  }
}

}  // namespace

FrameLoader::FrameLoader(Source& source, const Setup& setup)
    : source_(source),
      setup_(setup),
      fillers_(static_cast<size_t>(setup.workers)),
      slots_(static_cast<size_t>(source.live() ? live_slots : slots)) {
  BRIGHTNET_CHECK(setup.batch > 0 && setup.workers > 0, "a loader without a batch or a thread");
  BatchQueue::Work work;
  work.open = [this](uint64_t, int slot) { return open(slots_[static_cast<size_t>(slot)]); };
  work.make = [this](int slot, int item, int worker) {
    make(slots_[static_cast<size_t>(slot)], static_cast<size_t>(item), fillers_[static_cast<size_t>(worker)]);
  };
  queue_ = std::make_unique<BatchQueue>(std::move(work), static_cast<int>(slots_.size()), setup.workers);
}

FrameLoader::Frames* FrameLoader::next() {
  const int slot = queue_->next();
  return slot < 0 ? nullptr : &slots_[static_cast<size_t>(slot)].batch;
}

int FrameLoader::open(Slot& slot) {
  const double begin = seconds_now();
  slot.batch.frames.clear();
  Frame frame;
  while (std::ssize(slot.batch.frames) < setup_.batch && source_.next(frame))
    slot.batch.frames.push_back(std::move(frame));
  slot.batch.size = setup_.rect_stride > 0 ? size_of(slot.batch.frames) : setup_.fit.size;
  InputFit fit = setup_.fit;
  fit.size = slot.batch.size;
  const size_t values = values_of_input(fit) * static_cast<size_t>(setup_.batch);
  if (as_darknet(setup_.fit.resize)) {
    slot.values.resize(values);
    slot.batch.values = slot.values.data();
  } else {
    slot.pixels.resize(values);
    slot.batch.pixels = slot.pixels.data();
  }
  decoding_ += seconds_now() - begin;
  return static_cast<int>(slot.batch.frames.size());
}

/// What the images need together. The sizes of files are read from their headers; one without is decoded to nothing, or
/// to an image that a letterbox of the batch's size takes at a smaller scale.
InputSize FrameLoader::size_of(const std::vector<Frame>& frames) const {
  InputSize size;
  for (const Frame& frame : frames) {
    std::optional<cv::Size> image;
    if (frame.failure.empty()) image = frame.clip ? frame.image.size() : image_size(frame.file);
    if (!image) continue;
    const InputSize least = least_input(image->width, image->height, setup_.fit.size, setup_.rect_stride);
    size = {std::max(size.height, least.height), std::max(size.width, least.width)};
  }
  return size.given() ? size : setup_.fit.size;
}

void FrameLoader::make(Slot& slot, size_t item, InputFiller& fill) {
  Frame& frame = slot.batch.frames[item];
  const double begin = seconds_now();
  decode(frame, setup_.fit);
  const double decoded = seconds_now();
  decoding_ += decoded - begin;
  if (!frame.failure.empty() || setup_.decode_only) return;
  InputFit fit = setup_.fit;
  fit.size = slot.batch.size;
  const size_t at = item * values_of_input(fit);
  if (as_darknet(fit.resize)) {
    fill(frame.image, fit, slot.values.data() + at);
  } else {
    fill(frame.image, fit, slot.pixels.data() + at);
  }
  preparing_ += seconds_now() - decoded;
}

}  // namespace brightnet
