// Ranges of what the options of several functions of the library have in common.
#pragma once

#include "core/option_ranges.h"

namespace brightnet {

/// Which frames are taken: FrameOptions, DetectionOptions.
template <typename Options>
void check_frames(const OptionRanges& ranges, const Options& options) {
  ranges.at_least(0, "frames", options.frames);
  ranges.at_least(1, "every", options.every);
  ranges.at_least(1, "max_pixels", options.max_pixels);
}

/// What is found in them: DetectorOptions, DetectionOptions.
template <typename Options>
void check_detection(const OptionRanges& ranges, const Options& options) {
  ranges.within(0, 1, "confidence", options.confidence);
  ranges.at_least(0, "max_objects", options.max_objects);
  ranges.input_size(options.height, options.width);
}

}  // namespace brightnet
