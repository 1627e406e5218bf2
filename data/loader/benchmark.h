// The speed of the loader relative to the bare decoding of the same files in the same run: on a shared
// machine only such ratios are meaningful. Used by `brightnet bench --data`.
#pragma once

#include <optional>

#include "core/input_size.h"
#include "core/jpeg_decoder.h"
#include "data/augment/options.h"
#include "data/dataset.h"

namespace brightnet {

struct LoaderBenchmarkOptions {
  AugmentOptions augment;  ///< options as in training, mosaic included
  InputSize size = 416;
  int channels = 3;
  int batch = 16;
  int workers = 1;
  double seconds = 3;              ///< length of each measurement
  int images = 512;                ///< maximum of images, evenly spread over the data set, to fit in memory
  JpegDecoder* decoder = nullptr;  ///< the decoder of a device, to be measured too; nullptr: none
};

/// A rate per wall-clock second and per second of the process's CPU time (user and system).
struct Rate {
  double per_second = 0;      ///< wall-clock time
  double per_cpu_second = 0;  ///< CPU time: the throughput of one core
};

/// The speed of the loader's own part where a GPU paints the samples (loader.paint).
struct PictureBenchmark {
  Rate cached, uncached;  ///< rates of samples, as in LoaderBenchmark
  double bytes = 0;       ///< bytes of a sample that cross the bus, on average
  double painted = 0;  ///< fraction of samples that the CPU paints nevertheless: their images are too large
  std::optional<Rate> decoded;  ///< rate as `uncached`, where a device decodes as well
};

struct LoaderBenchmark {
  Rate decode;    ///< images/s of OpenCV's imdecode in one thread, the file already in memory
  Rate cached;    ///< samples/s with every decoded image in memory
  Rate uncached;  ///< samples/s with nothing in memory: a mosaic decodes four files anew
  std::optional<PictureBenchmark> pictures;  ///< none where `augment` asks for what only the CPU paints
  int images = 0;
  int workers = 0;
};

/// Measures the decoding once before and once after the loader, and the loader in its steady state.
LoaderBenchmark measure_loader(const Dataset& dataset, const LoaderBenchmarkOptions& options);

}  // namespace brightnet
