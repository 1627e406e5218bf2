#include "data/loader/loader.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <opencv2/core.hpp>

#include "core/random.h"
#include "core/require_memory.h"
#include "data/augment/crop.h"
#include "data/image/stored_file.h"
#include "data/loader/batch_queue.h"
#include "data/loader/image_cache.h"
#include "data/loader/picture_block.h"
#include "data/loader/sample.h"

namespace brightnet {
namespace {

constexpr std::align_val_t buffer_alignment{64};

// Memory for the pixels of a batch. What the consumer kept comes back when it is done with it, also after the loader.
class Buffers : public std::enable_shared_from_this<Buffers> {
 public:
  Buffers(BufferSource source, size_t bytes) : source_(std::move(source)), bytes_(bytes) {}
  ~Buffers() {
    for (void* data : spare_) source_.release(data);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  std::shared_ptr<uint8_t> get() {
    return {static_cast<uint8_t*>(take()),
            [owner = shared_from_this()](uint8_t* data) { owner->give(data); }};
  }

 private:
  void* take() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return source_.allocate(bytes_);
    void* const data = spare_.back();
    spare_.pop_back();
    return data;
  }
  void give(void* data) {
    constexpr size_t most_spare = 2;
    const std::lock_guard lock(mutex_);
    spare_.size() < most_spare ? spare_.push_back(data) : source_.release(data);
  }

  const BufferSource source_;
  const size_t bytes_;
  std::mutex mutex_;
  std::vector<void*> spare_;
};

// The size that keeps at least one source pixel per input pixel, even in the smallest crop.
cv::Size needed_size(const Loader::Setup& setup) {
  int width = 0, height = 0;
  for (const InputSize& size : setup.sizes) {
    // Quarter turns lay an image's width along the input's height.
    const bool turns = setup.augment.quarter_turns > 0;
    width = std::max(width, turns ? size.longer() : size.width);
    height = std::max(height, turns ? size.longer() : size.height);
  }
  const auto needed = [&](int side) {
    return static_cast<int>(std::ceil(side / smallest_crop(setup.augment)));
  };
  return {needed(width), needed(height)};
}

// The consumer holds one batch in addition to those prefetched. Without workers one slot is enough.
size_t slots_of(const LoaderOptions& options) {
  return options.threads() == 0 ? 1 : static_cast<size_t>(options.prefetch) + 1;
}

PictureLayout layout_of(const Loader::Setup& setup, const InputSize& size) {
  return picture_layout(setup.batch, size.height, size.width, setup.channels,
                        most_placed_images(setup.augment));
}

size_t batch_bytes(const Loader::Setup& setup) {
  const InputSize& size = *std::max_element(setup.sizes.begin(), setup.sizes.end());
  if (setup.pictures) return layout_of(setup, size).bytes();
  const auto largest = size.pixels();
  return setup.channels * static_cast<size_t>(largest) * setup.batch;
}

uint64_t cache_bytes(float mebibytes) {
  return static_cast<uint64_t>(static_cast<double>(mebibytes) * (1 << 20));
}

// The end that follows from the setup. It tolerates rounding: 0.7 of 10 batches is 7, although 0.7f · 10 is slightly
// less.
RunEnd end_of(const Loader::Setup& setup, uint64_t steps_per_epoch) {
  if (setup.end) return *setup.end;
  const uint64_t batches = setup.epochs * steps_per_epoch;
  const double plain = static_cast<double>(setup.augment.whole_images()) * batches;
  return {batches, batches - static_cast<uint64_t>(plain + 1e-3)};
}

}  // namespace

ImageRuns runs_of(const Dataset& dataset, const LoaderOptions& options) {
  ImageRuns runs;
  runs.buffer = static_cast<uint32_t>(options.shuffle_buffer);
  bool any = false;
  std::string prefix;  // beginning of the run's paths: "a/b.tar/", or nothing
  for (size_t i = 0; i < dataset.images.size(); ++i) {
    const std::string& file = dataset.images[i].file.native();
    if (!prefix.empty() && file.starts_with(prefix)) continue;
    const std::string archive = archive_of(file).native();
    if (i > 0 && archive.empty() && prefix.empty()) continue;
    prefix = archive.empty() ? "" : archive + '/';
    any = any || !archive.empty();
    runs.first.push_back(static_cast<uint32_t>(i));
  }
  return any ? runs : ImageRuns();
}

void LoaderOptions::fields(Fields& f) {
  f("workers", workers, "threads that prepare batches; 0: the training thread prepares them between steps")
      .within(0, 256);
  f("prefetch", prefetch, "batches prepared in advance").within(1, 1024);
  f("cache_mb", cache_mb, "MiB of decoded images kept in memory; 0 keeps none").at_least(0);
  f("paint", paint,
    "what resizes and colours training samples; auto: a GPU that trains, if it can all of augment");
  f("decode", decode,
    "what decodes JPEG files; auto: a GPU that trains, if NVIDIA's nvJPEG is installed; pixels differ slightly");
  f("shuffle_buffer", shuffle_buffer,
    "images of .tar archives, which are read in sequence, among which the next one and the others of its mosaic are drawn")
      .within(1, 1e8);
}

int LoaderOptions::decoded_at_once() const {
  constexpr int most = 8;
  return std::clamp(workers.value_or(most), 1, most);
}

std::string painted_by_cpu_alone(const AugmentOptions& augment) {
  return augment.blur > 0              ? "blur"
         : augment.blur_background > 0 ? "blur_background"
         : augment.noise > 0           ? "noise"
                                       : "";
}

BufferSource BufferSource::host() {
  return {[](size_t bytes) { return ::operator new(bytes, buffer_alignment); },
          [](void* data) { ::operator delete(data, buffer_alignment); }};
}

class Loader::Implementation {
 public:
  explicit Implementation(Setup setup)
      : setup_(std::move(setup)),
        sampler_(static_cast<int>(setup_.dataset->images.size()), setup_.batch, setup_.part, setup_.seed,
                 setup_.steps_per_epoch, runs_of(*setup_.dataset, setup_.loader)),
        cache_(*setup_.dataset, cache_bytes(setup_.loader.cache()), needed_size(setup_), setup_.channels,
               setup_.decoder),
        buffers_(std::make_shared<Buffers>(setup_.buffers, batch_bytes(setup_))),
        slots_(slots_of(setup_.loader)),
        end_(end_of(setup_, sampler_.steps_per_epoch())),
        first_step_(setup_.start_epoch * sampler_.steps_per_epoch() + setup_.start_step) {
    const int workers = setup_.loader.threads();
    for (int i = 0; i < std::max(1, workers); ++i)
      makers_.push_back(std::make_unique<SampleMaker>(*setup_.dataset, setup_.augment, cache_));
    for (Slot& slot : slots_) {
      slot.memory = buffers_->get();
      slot.batch.truths.resize(setup_.batch);
    }
    BatchQueue::Work work;
    work.batches = batches_until(end_);
    work.open = [this](uint64_t batch, int slot) { return open(first_step_ + batch, slots_[slot]); };
    work.make = [this](int slot, int item, int worker) { make(slots_[slot], item, worker); };
    queue_ = std::make_unique<BatchQueue>(std::move(work), static_cast<int>(slots_.size()), workers);
  }

  uint64_t steps_per_epoch() const { return sampler_.steps_per_epoch(); }
  double waited_seconds() const { return queue_->waited_seconds(); }

  const Batch* next() {
    const int slot = queue_->next();
    current_ = slot < 0 ? nullptr : &slots_[slot];
    if (!current_) return nullptr;
    if (setup_.pictures) {
      current_->batch.pictures = current_->block.pictures();
      current_->batch.painted = current_->painted;
    }
    return &current_->batch;
  }

  // Workers do not touch the consumer's slot before the next call of next().
  std::shared_ptr<uint8_t> keep_pixels() {
    BRIGHTNET_CHECK(current_ && current_->batch.pixels == current_->memory.get(),
                    "a batch's pixels are kept once");
    return std::exchange(current_->memory, buffers_->get());
  }

  void set_end(const RunEnd& end) {
    queue_->revise(batches_until(end), [&](uint64_t first, uint64_t opened) {
      const RunEnd before = std::exchange(end_, end);
      for (uint64_t step = first_step_ + first; step < first_step_ + opened; ++step) {
        const bool same_kind = (step >= before.plain_from) == (step >= end.plain_from);
        if (!same_kind || size_at(step, before) != size_at(step, end)) return true;
      }
      return false;
    });
  }

 private:
  struct Slot {
    std::shared_ptr<uint8_t> memory;
    PictureBlock block;
    std::atomic<int> painted = 0;
    std::vector<SamplePosition> samples;
    bool plain = false;
    Batch batch;
  };

  uint64_t batches_until(const RunEnd& end) const {
    return end.batches > first_step_ ? end.batches - first_step_ : 0;
  }

  int open(uint64_t step, Slot& slot) {
    Batch& batch = slot.batch;
    slot.plain = step >= end_.plain_from;
    batch.epoch = step / sampler_.steps_per_epoch();
    batch.step = step % sampler_.steps_per_epoch();
    sampler_.batch(batch.epoch, batch.step, slot.samples);
    batch.count = setup_.batch;
    const InputSize& size = size_at(step, end_);
    batch.height = size.height;
    batch.width = size.width;
    batch.channels = setup_.channels;
    if (setup_.pictures) {
      slot.block.begin(reinterpret_cast<std::byte*>(slot.memory.get()), layout_of(setup_, size));
      slot.painted = 0;
    } else {
      batch.pixels = slot.memory.get();
    }
    batch.real = static_cast<int>(std::count_if(slot.samples.begin(), slot.samples.end(),
                                                [](const auto& sample) { return sample.real; }));
    return batch.count;
  }

  void make(Slot& slot, int item, int worker) {
    const SamplePosition& sample = slot.samples[item];
    Batch& batch = slot.batch;
    const InputSize size(batch.height, batch.width);
    const SampleName name{setup_.seed,  sample.epoch, sample.position,
                          sample.image, slot.plain,   sample.nearby};
    SampleMaker& maker = *makers_[worker];
    std::vector<Truth>& truths = batch.truths[item];
    if (setup_.pictures) {
      if (!maker.make(name, size, slot.block, item, truths)) ++slot.painted;
      return;
    }
    const size_t bytes = setup_.channels * static_cast<size_t>(size.pixels());
    maker.make(name, size, batch.pixels + item * bytes, truths);
  }

  // The input size of a batch. It depends only on the step, so it is the same on every rank and after resuming.
  const InputSize& size_at(uint64_t step, const RunEnd& end) const {
    if (!end.larger_from.empty()) {
      const auto reached = std::upper_bound(end.larger_from.begin(), end.larger_from.end(), step);
      return setup_.sizes[reached - end.larger_from.begin()];
    }
    const uint64_t block = step / static_cast<uint64_t>(setup_.size_every);
    Random random(setup_.seed, Purpose::size, 0, block);
    return setup_.sizes[random.below(setup_.sizes.size())];
  }

  const Setup setup_;
  Sampler sampler_;
  ImageCache cache_;
  const std::shared_ptr<Buffers> buffers_;
  std::vector<Slot> slots_;
  RunEnd end_;  // changed while no batch is being opened
  const uint64_t first_step_;
  std::vector<std::unique_ptr<SampleMaker>> makers_;  // one for each worker
  Slot* current_ = nullptr;                           // slot of the batch that the consumer has
  std::unique_ptr<BatchQueue> queue_;                 // last: its threads end before what they use
};

Loader::Loader(Setup setup) {
  BRIGHTNET_CHECK(setup.dataset && !setup.dataset->images.empty(), "a loader needs a data set with images");
  BRIGHTNET_CHECK(!setup.sizes.empty() && setup.size_every > 0, "a loader needs a size");
  BRIGHTNET_CHECK(setup.channels == 1 || setup.channels == 3, "samples are grey or RGB");
  for (const InputSize& size : setup.sizes) BRIGHTNET_CHECK(size.given(), "a loader needs sizes above 0");
  BRIGHTNET_CHECK(setup.loader.threads() >= 0 && setup.loader.prefetch > 0,
                  "no such number of workers or batches");
  const auto largest = std::max_element(setup.sizes.begin(), setup.sizes.end());
  require_memory(fmt::format("loading {} batches of {} images of {} pixels", slots_of(setup.loader),
                             setup.batch, largest->text()),
                 buffer_bytes(setup), free_memory_of_host(),
                 [] { return "Lower the batch, the size or loader.prefetch."; });
  implementation_ = std::make_unique<Implementation>(std::move(setup));
}

Loader::~Loader() = default;

size_t Loader::buffer_bytes(const Setup& setup) {
  return slots_of(setup.loader) * batch_bytes(setup);
}

uint64_t Loader::steps_per_epoch() const {
  return implementation_->steps_per_epoch();
}

const Batch* Loader::next() {
  return implementation_->next();
}

void Loader::set_end(const RunEnd& end) {
  implementation_->set_end(end);
}

std::shared_ptr<uint8_t> Loader::keep_pixels() {
  return implementation_->keep_pixels();
}

double Loader::waited_seconds() const {
  return implementation_->waited_seconds();
}

}  // namespace brightnet
