#include "detect/input_loader.h"

#include <algorithm>

#include "core/clock.h"
#include "core/error.h"
#include "detect/rect_batches.h"

namespace brightnet {
namespace {

// One batch is processed while the others are prepared; live sources have fewer to limit latency.
constexpr int ahead = 3;
constexpr int live_ahead = 2;

ImageTile all_of(cv::Size size) {
  return {0, 0, size.width, size.height, size.width, size.height};
}

/// Exchanges the pixels of each row.
void mirror(std::byte* input, const InputFit& fit) {
  const size_t pixel = bytes_of_input(fit) / fit.size.pixels();
  const auto width = static_cast<size_t>(fit.size.width);
  for (int y = 0; y < fit.size.height; ++y) {
    std::byte* const row = input + y * width * pixel;
    for (size_t x = 0; x < width / 2; ++x)
      std::swap_ranges(row + x * pixel, row + (x + 1) * pixel, row + (width - 1 - x) * pixel);
  }
}

}  // namespace

InputLoader::InputLoader(FrameSource& source, const Setup& setup)
    : source_(source),
      setup_(setup),
      fillers_(static_cast<size_t>(std::max(1, setup.workers))),
      slots_(static_cast<size_t>(setup.workers == 0 ? 1
                                 : source.live()    ? live_ahead
                                                    : ahead)) {
  BRIGHTNET_CHECK(setup.batch > 0 && setup.fit.size.given() && setup.workers >= 0,
                  "no such batch, size or number of workers");
  if (setup.tiles) decode_ahead();
  BatchQueue::Work work;
  work.open = [this](uint64_t, int slot) { return open(slots_[slot]); };
  work.make = [this](int slot, int item, int worker) {
    make(slots_[slot], static_cast<size_t>(item), fillers_[worker]);
  };
  inputs_ = std::make_unique<BatchQueue>(std::move(work), static_cast<int>(slots_.size()), setup.workers);
}

InputLoader::Batch* InputLoader::next() {
  const int slot = inputs_->next();
  return slot < 0 ? nullptr : &slots_[slot].batch;
}

/// Decodes frames before their inputs are made. A live source has none ahead, and what opens a batch decodes.
void InputLoader::decode_ahead() {
  const int slots = source_.live() ? 1 : ahead;
  decoded_.resize(slots);
  BatchQueue::Work work;
  work.open = [this](uint64_t, int slot) { return take(decoded_[slot]) ? 1 : 0; };
  work.make = [this](int slot, int, int) { decode(decoded_[slot]); };
  frames_ = std::make_unique<BatchQueue>(std::move(work), slots, std::min(setup_.workers, slots - 1));
}

bool InputLoader::take(Frame& frame) {
  const double begin = seconds_now();
  const bool taken = source_.next(frame);
  if (taken) frame.place = ++taken_;
  decoding_ += seconds_now() - begin;
  return taken;
}

void InputLoader::decode(Frame& frame) {
  const double begin = seconds_now();
  source_.decode(frame, setup_.fit);
  decoding_ += seconds_now() - begin;
}

bool InputLoader::next_frame() {
  frame_ = std::make_shared<Frame>();
  parts_.clear();
  part_ = 0;
  std::optional<cv::Size> size;
  if (frames_) {
    const int slot = frames_->next();
    if (slot < 0) return false;
    *frame_ = std::move(decoded_[slot]);
    size = source_.size(*frame_);
  } else if (!take(*frame_)) {
    return false;
  }
  parts_ = size ? tiles_of(size->width, size->height, setup_.tiles) : std::vector{ImageTile{}};
  return true;
}

int InputLoader::open(Slot& slot) {
  Batch& batch = slot.batch;
  batch.inputs.clear();
  while (std::ssize(batch.inputs) < setup_.batch) {
    if (part_ == parts_.size() && !next_frame()) break;
    const ImageTile& part = parts_[part_++];
    batch.inputs.push_back({frame_, part, part_ == parts_.size()});
    // The next frame of a camera would be waited for.
    if (batch.inputs.back().last && setup_.tiles && source_.live()) break;
  }
  batch.fit = setup_.fit;
  if (setup_.rect_stride > 0) batch.fit.size = size_of(batch.inputs);
  slot.bytes.resize(bytes_of_input(batch.fit) * setup_.batch);
  batch.input = slot.bytes.data();
  return static_cast<int>(batch.inputs.size());
}

/// The size that takes all images. One without a size is decoded to nothing, or to an image that a letterbox
/// of the batch's size takes at a smaller scale.
InputSize InputLoader::size_of(const std::vector<Input>& inputs) const {
  InputSize size;
  for (const Input& input : inputs) {
    const auto image = source_.size(*input.frame);
    if (!image) continue;
    const InputSize least = least_input(image->width, image->height, setup_.fit.size, setup_.rect_stride);
    size = {std::max(size.height, least.height), std::max(size.width, least.width)};
  }
  return size.given() ? size : setup_.fit.size;
}

void InputLoader::make(Slot& slot, size_t item, InputFiller& fill) {
  Input& input = slot.batch.inputs[item];
  Frame& frame = *input.frame;
  if (!frames_) decode(frame);
  if (!frame.failure.empty()) return;
  const double begin = seconds_now();
  if (!frames_) input.part = all_of(source_.size(frame).value());
  const InputFit& fit = slot.batch.fit;
  std::byte* const own = slot.bytes.data() + item * bytes_of_input(fit);
  fill(source_.shown(frame, input.part, fit), fit, own);
  if (setup_.mirrored) mirror(own, fit);
  preparing_ += seconds_now() - begin;
}

}  // namespace brightnet
