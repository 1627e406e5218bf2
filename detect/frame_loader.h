// Prepares frames for the network in advance: threads decode them and fit them into the input; batches are
// returned in order.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "data/image/placement.h"
#include "data/loader/batch_queue.h"
#include "detect/fill_input.h"
#include "detect/sources/source.h"

namespace brightnet {

class FrameLoader {
 public:
  struct Setup {
    int batch = 1;
    InputFit fit;
    int workers = 1;  ///< threads
    /// Above 0: rectangular batches, of the least size with sides of these multiples that takes all images of a batch
    /// (data/loader/rect_batches.h). For a letterboxed fit.
    int rect_stride = 0;
    bool decode_only = false;  ///< the frames alone: the input stays undefined
  };
  /// `source` must outlive the loader and not be used elsewhere.
  FrameLoader(Source& source, const Setup& setup);

  struct Frames {
    /// batch × height × width × channels: u8 pixels, or fp32 values in [0, 1] for darknet's resize. Undefined for
    /// frames that failed and after the last frame.
    const uint8_t* pixels = nullptr;
    const float* values = nullptr;
    InputSize size;             ///< of the input; of a rectangular batch its own
    std::vector<Frame> frames;  ///< at most a batch; those that could not be decoded have a `failure`
  };
  /// nullptr after the last. Valid until the next call; the caller may move the frames out.
  Frames* next();

  /// Seconds of work so far, summed over the threads.
  double decoding_seconds() const { return decoding_; }
  double preparing_seconds() const { return preparing_; }

 private:
  struct Slot {
    std::vector<uint8_t> pixels;
    std::vector<float> values;
    Frames batch;
  };

  InputSize size_of(const std::vector<Frame>& frames) const;
  int open(Slot& slot);
  void make(Slot& slot, size_t item, InputFiller& fill);

  Source& source_;
  const Setup setup_;
  std::atomic<double> decoding_{0}, preparing_{0};
  std::vector<InputFiller> fillers_;  // one a worker
  std::vector<Slot> slots_;
  std::unique_ptr<BatchQueue> queue_;  // last: its threads end before what they use
};

}  // namespace brightnet
