// Detects objects in the frames of a source.
#pragma once

#include <string>
#include <vector>

#include "detect/inference.h"
#include "detect/pipeline.h"

namespace brightnet {

struct DetectReport {
  int64_t images = 0, objects = 0;
  struct Skipped {
    std::string file, reason;
  };
  std::vector<Skipped> skipped;  ///< frames that could not be decoded
  StageTimes times;
};

/// Runs the network on the source and passes each result to `sink`, in order, until it returns false or a stop is
/// requested. Frames that cannot be decoded are skipped.
DetectReport detect(InferenceNetwork& inference, FrameSource& source, const PipelineOptions& options,
                    const ObjectSink& sink, const std::stop_token& stop = {});

/// The classes that "cat", "3" or a list of such mean; empty for an empty list. Throws InputError, naming the
/// nearest, for an unknown class.
std::vector<bool> parse_class_filter(const std::vector<std::string>& wanted,
                                     const std::vector<std::string>& names);

}  // namespace brightnet
