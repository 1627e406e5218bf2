// How fast the loader is, against the bare decoding of the same files in the same run: on a shared machine
// only such ratios mean something. Used by `brightnet bench --data`.
#pragma once

#include <cstdint>

#include "data/augment/options.h"
#include "data/dataset.h"

namespace brightnet {

struct LoaderBenchmarkOptions {
  AugmentOptions augment;  ///< as it will be trained, mosaic included
  int size = 416;
  int batch = 16;
  int workers = 1;
  double seconds = 3;  ///< for each of the figures
  int images = 512;  ///< of a larger data set this many are used, evenly spread, so that they fit into memory
};

/// A rate by the clock on the wall and by the processor time of the whole process, user and system.
struct Rate {
  double per_second = 0;      ///< of wall-clock time
  double per_cpu_second = 0;  ///< of processor time: what one core makes when nothing else runs on it
};

struct LoaderBenchmark {
  Rate decode;    ///< images/s of OpenCV's imdecode in one thread, the file already in memory
  Rate cached;    ///< samples/s with every decoded image in memory
  Rate uncached;  ///< samples/s with nothing in memory: a mosaic decodes four files anew
  int images = 0;
  int workers = 0;
};

/// Measures the decoding once before and once after the loader, and the loader when its queue runs steadily.
LoaderBenchmark measure_loader(const Dataset& dataset, const LoaderBenchmarkOptions& options);

}  // namespace brightnet
