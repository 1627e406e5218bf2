// Detects objects in the frames of a source.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "detect/evaluate/evaluate.h"
#include "detect/inference.h"
#include "detect/sources/source.h"

namespace brightnet {

struct FoundObjects {
  Frame frame;
  std::vector<ScoredBox> boxes;  ///< in pixels of the frame, clipped to it, best first
  std::vector<ScoredBox> uncut;  ///< not clipped, including those outside the frame, as in darknet
};

/// Seconds by stage, summed over the images. Several threads decode and prepare, so their sum may exceed the
/// wall-clock time.
struct StageTimes {
  double decode = 0, prepare = 0, network = 0, nms = 0, output = 0;
  double clock = 0;  ///< from the first image to the last
  /// "120.3 images/s; ms an image: decode 1.9, prepare 0.6, network 5.2, NMS 0.1, output 0.9 (2 threads
  /// decode and prepare)".
  std::string text(int64_t images, int workers) const;
};

struct DetectReport {
  int64_t images = 0, objects = 0;
  struct Skipped {
    std::string file, reason;
  };
  std::vector<Skipped> skipped;  ///< could not be decoded
  StageTimes times;
};

/// Runs the network on the source in batches and passes each result to `sink`, in order, until it returns
/// false. `classes` flags the wanted class ids; empty: all. Frames that cannot be decoded are skipped.
DetectReport detect(InferenceNetwork& inference, Source& source, const DetectOptions& options,
                    const std::vector<bool>& classes, const std::function<bool(const FoundObjects&)>& sink);

/// The classes that "cat", "3" or a list of such mean; empty for an empty list. Throws InputError, naming the
/// nearest, for an unknown class.
std::vector<bool> parse_class_filter(const std::vector<std::string>& wanted,
                                     const std::vector<std::string>& names);

}  // namespace brightnet
