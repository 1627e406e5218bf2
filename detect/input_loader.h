// Prepares inputs of the network in advance: threads decode frames and fit them, or their tiles, into the input. Batches
// come in the order of the source.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "data/image/placement.h"
#include "data/loader/batch_queue.h"
#include "data/tiles/tiles.h"
#include "detect/fill_input.h"
#include "detect/sources/frame_source.h"

namespace brightnet {

class InputLoader {
 public:
  struct Setup {
    int batch = 1;
    InputFit fit;
    int workers = 1;  ///< threads; with 0, next() prepares each batch itself
    /// Above 0: rectangular batches, of the least size with sides of these multiples that takes all images of a batch
    /// (detect/rect_batches.h). For a letterboxed fit.
    int rect_stride = 0;
    TileOptions tiles = {};  ///< with a size above 0: each tile of a frame is an input
    bool mirrored = false;   ///< left and right are exchanged in the inputs
  };
  /// `source` must outlive the loader and not be used elsewhere.
  InputLoader(FrameSource& source, const Setup& setup);

  /// One input of the network: a frame, or a tile of it.
  struct Input {
    std::shared_ptr<Frame> frame;  ///< shared by its tiles; has a `failure` if it could not be decoded
    ImageTile part;                ///< the part of the frame that the input shows; empty after a failure
    bool last = true;              ///< the last input of its frame
  };
  struct Batch {
    /// batch × bytes_of_input(). Undefined for frames that failed and after the last input.
    const void* input = nullptr;
    InputFit fit;               ///< fit of images into this batch's inputs, with their size
    std::vector<Input> inputs;  ///< at most Setup::batch inputs
  };
  /// nullptr after the last. Valid until the next call; the caller may move the frames out. Throws what the source throws.
  Batch* next();

  /// Seconds of work so far, summed over the threads.
  double decoding_seconds() const { return decoding_; }
  double preparing_seconds() const { return preparing_; }

 private:
  struct Slot {
    std::vector<std::byte> bytes;
    Batch batch;
  };

  void decode_ahead();
  bool take(Frame& frame);
  void decode(Frame& frame);
  bool next_frame();
  int open(Slot& slot);
  InputSize size_of(const std::vector<Input>& inputs) const;
  void make(Slot& slot, size_t item, InputFiller& fill);

  FrameSource& source_;
  const Setup setup_;
  std::atomic<double> decoding_{0}, preparing_{0};
  int64_t taken_ = 0;                 // frames, by one thread at a time
  std::vector<InputFiller> fillers_;  // one a worker
  std::vector<Slot> slots_;
  // Decoded before their inputs are made, because only then the number of their tiles is known.
  std::vector<Frame> decoded_;
  std::shared_ptr<Frame> frame_;  // the one whose parts come next
  std::vector<ImageTile> parts_;
  size_t part_ = 0;
  // Last, and in this order: the threads end before what they use.
  std::unique_ptr<BatchQueue> frames_, inputs_;
};

}  // namespace brightnet
