// The loader: worker threads turn samples into whole batches in a bounded set of reusable buffers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/box.h"
#include "core/config.h"
#include "core/input_size.h"
#include "core/jpeg_decoder.h"
#include "data/augment/options.h"
#include "data/dataset.h"
#include "data/loader/sampler.h"
#include "kernels/math/painting.h"

namespace brightnet {

/// The device that does a part of the loader's work.
enum class LoaderDevice : uint8_t {
  automatic,  ///< a GPU that trains, if it can do all of it; else the CPU
  cpu,
  gpu
};
constexpr std::string_view enum_name(LoaderDevice device) {
  switch (device) {
    case LoaderDevice::automatic: return "auto";
    case LoaderDevice::cpu: return "cpu";
    case LoaderDevice::gpu: return "gpu";
  }
  return {};
}

/// The `loader:` section.
struct LoaderOptions {
  Auto<int> workers;     ///< threads; 0 makes each batch in next(). Automatic: 1 if not chosen
  int prefetch = 3;      ///< whole batches made ahead
  Auto<float> cache_mb;  ///< MiB of decoded images kept in memory; 0: none. Automatic: 1024 if not chosen
  LoaderDevice paint = LoaderDevice::automatic;  ///< resizes, warps and colours images and puts them together
  // Decoded by a GPU the pixels are nvJPEG's, and most runs decode each image once: the CPU, unless asked.
  LoaderDevice decode = LoaderDevice::cpu;  ///< decodes JPEG files
  int shuffle_buffer = 4096;                ///< images of .tar archives among which the next one is drawn
  void fields(Fields& f);

  int threads() const { return workers.value_or(1); }
  /// Files that a device decodes at a time; where the workers are not chosen yet, at most.
  int decoded_at_once() const;
  float cache() const { return cache_mb.value_or(1024); }
};

/// A batch ready for the network: pixels as u8, NHWC, RGB or grey, and the objects in each image.
struct Batch {
  uint8_t* pixels = nullptr;  ///< batch × height × width × channels, in a buffer of the loader's
  Pictures pictures = {};  ///< what a device paints the pixels from, in such a buffer; `pixels` is null then
  int painted = 0;         ///< number of `pictures` that the CPU painted: their images are too many bytes
  int count = 0, height = 0, width = 0, channels = 3;
  std::vector<std::vector<Truth>> truths;  ///< one list an image; boxes relative to height and width
  int real = 0;                            ///< images that are not padding of an uneven tail
  uint64_t epoch = 0, step = 0;            ///< position in the run: resume starts here
};

/// The source of the batches' memory, so that a CUDA build can hand out pinned memory.
struct BufferSource {
  std::function<void*(size_t)> allocate;
  std::function<void(void*)> release;
  /// Plain 64-byte aligned host memory.
  static BufferSource host();
};

/// The end of a run and the beginning of its last part, without mosaic and mixup, in batches of this rank,
/// counted from the start of the run's first epoch.
struct RunEnd {
  uint64_t batches = 0, plain_from = 0;
  /// The batch at which each of the loader's sizes but the first begins. Empty: the sizes are drawn at random.
  std::vector<uint64_t> larger_from = {};
};

/// A run for each archive that images lie in; images by themselves between archives are one too. None without archives.
ImageRuns runs_of(const Dataset& dataset, const LoaderOptions& options);

/// The first key of `augment:` that asks for what only the CPU paints; "" where there is none.
std::string painted_by_cpu_alone(const AugmentOptions& augment);

/// Yields the batches of a training run, in an order that depends on the seed alone: the sequence is
/// bit-identical for any number of workers. Each epoch is a permutation of the data set.
class Loader {
 public:
  struct Setup {
    const Dataset* dataset = nullptr;
    AugmentOptions augment;
    LoaderOptions loader;
    int batch = 1;                      ///< images in a batch of this rank
    std::vector<InputSize> sizes{416};  ///< more than one: multi-scale
    int channels = 3;                   ///< 3: RGB; 1: grey
    int64_t size_every = 10;            ///< batches between changes of size
    uint64_t seed = 0;
    uint64_t epochs = 1;
    /// End of the run. None: after `epochs`; the last augment.mosaic_off of its batches are plain.
    std::optional<RunEnd> end;
    uint64_t steps_per_epoch = 0;  ///< 0: ceil(images / (batch × ranks))
    uint64_t start_epoch = 0, start_step = 0;
    RankPart part;
    BufferSource buffers = BufferSource::host();
    bool pictures = false;  ///< batches have pictures, for Backend::paint_ahead(), instead of pixels
    /// The decoder of a device, which outlives the loader; none: the CPU decodes everything.
    JpegDecoder* decoder = nullptr;
  };

  /// The bytes of all batches' buffers: of the one that the consumer holds and of those made ahead.
  static size_t buffer_bytes(const Setup& setup);
  /// Throws InputError when buffer_bytes() are more than this machine has free.
  explicit Loader(Setup setup);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  uint64_t steps_per_epoch() const;
  /// The next batch, or nullptr after the last. It is valid until the next call.
  /// Rethrows what a worker threw (an image that vanished or broke since the data set was read).
  const Batch* next();
  /// The memory of that batch's pixels, for as long as a copy of the pointer lives; later batches get other memory. To be
  /// called at most once a batch.
  std::shared_ptr<uint8_t> keep_pixels();
  /// Moves the end. Later batches are those of a loader that was made with this end, also where they had
  /// already been prepared.
  void set_end(const RunEnd& end);

  /// Seconds next() spent waiting for workers, since the start.
  double waited_seconds() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace brightnet
