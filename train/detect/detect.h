// Looking for objects in whatever a source hands out, some of which may not decode.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "train/detect/inference.h"
#include "train/detect/sources/source.h"
#include "train/evaluate/evaluate.h"

namespace brightnet {

struct FoundObjects {
  Frame frame;
  std::vector<ScoredBox> boxes;  ///< in pixels of the frame, cut at its border, best first
  /// The same and those outside the frame, as darknet prints them: over the border too.
  std::vector<ScoredBox> uncut;
};

/// Seconds by stage, added up over the images. Decoding and preparing are done by several threads at a time,
/// so their sum may exceed the clock's.
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
  std::vector<Skipped> skipped;  ///< what did not decode
  StageTimes times;
};

/// Runs the network over the source, a batch of its plan's at a time, and hands each result to `sink`, in order; false
/// from there ends it. `classes` are those looked for, by id; empty: all. A picture that does not decode is skipped.
DetectReport detect(InferenceNetwork& inference, Source& source, const DetectOptions& options,
                    const std::vector<bool>& classes, const std::function<bool(const FoundObjects&)>& sink);

/// The classes that "cat", "3" or a list of such mean; empty for an empty list. Throws InputError, naming the
/// nearest, for what is no class of the model.
std::vector<bool> parse_class_filter(const std::vector<std::string>& wanted,
                                     const std::vector<std::string>& names);

}  // namespace brightnet
