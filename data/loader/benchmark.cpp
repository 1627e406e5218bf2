#include "data/loader/benchmark.h"

#include <algorithm>
#include <functional>
#include <vector>

#include <opencv2/imgcodecs.hpp>
#include <sys/resource.h>

#include "core/clock.h"
#include "core/error.h"
#include "data/image/codecs.h"
#include "data/image/stored_file.h"
#include "data/loader/loader.h"

namespace brightnet {
namespace {

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return time.tv_sec + 1e-6 * time.tv_usec; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Calls work(), which returns the number of items done, until the time is over.
template <typename Work>
Rate measure(double seconds, Work&& work) {
  const double start = seconds_now();
  const double processor_start = processor_seconds();
  double done = 0, elapsed = 0;
  do {
    done += work();
    elapsed = seconds_now() - start;
  } while (elapsed < seconds);
  return {done / elapsed, done / std::max(1e-9, processor_seconds() - processor_start)};
}

Rate measure_decode(const std::vector<std::vector<uint8_t>>& files, double seconds) {
  size_t at = 0;
  return measure(seconds, [&] {
    const cv::Mat image =
        decode_image(files[at++ % files.size()], cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION);
    return image.empty() ? 0 : 1;
  });
}

// Measures the steady state: warming up for an epoch fills the cache and empties the initial queue, so that
// every batch taken is one that a worker has to make in the meantime. `take` sees each of them.
Rate measure_samples(const Dataset& dataset, const LoaderBenchmarkOptions& options, bool cached,
                     const std::function<void(const Batch&)>& take = {}, JpegDecoder* decoder = nullptr) {
  Loader::Setup setup;
  setup.dataset = &dataset;
  setup.augment = options.augment;
  setup.augment.mosaic_off = 0;
  setup.batch = options.batch;
  setup.sizes = {options.size};
  setup.channels = options.channels;
  setup.epochs = std::numeric_limits<uint32_t>::max();
  setup.loader.workers = options.workers;
  setup.loader.cache_mb = cached ? 1e6f : 0.0f;
  setup.pictures = static_cast<bool>(take);
  setup.decoder = decoder;
  Loader loader(setup);
  // The first time that a device decodes a file, the CPU reads all of it.
  const uint64_t warm_up = cached || decoder ? loader.steps_per_epoch() + 1 : 2;
  for (uint64_t i = 0; i < warm_up; ++i) loader.next();
  return measure(options.seconds, [&] {
    const Batch& batch = *loader.next();
    if (take) take(batch);
    return batch.count;
  });
}

PictureBenchmark measure_pictures(const Dataset& dataset, const LoaderBenchmarkOptions& options) {
  PictureBenchmark result;
  double samples = 0;
  const auto take = [&](const Batch& batch) {
    samples += batch.count;
    result.bytes += batch.pictures.bytes;
    result.painted += batch.painted;
  };
  result.cached = measure_samples(dataset, options, true, take);
  result.uncached = measure_samples(dataset, options, false, take);
  if (options.decoder) result.decoded = measure_samples(dataset, options, false, take, options.decoder);
  result.bytes /= samples;
  result.painted /= samples;
  return result;
}

Rate mean(const Rate& a, const Rate& b) {
  return {(a.per_second + b.per_second) / 2, (a.per_cpu_second + b.per_cpu_second) / 2};
}

}  // namespace

LoaderBenchmark measure_loader(const Dataset& dataset, const LoaderBenchmarkOptions& options) {
  BRIGHTNET_CHECK(!dataset.images.empty() && options.images > 0, "nothing to measure with");
  const Dataset part = evenly_spread(dataset, options.images);
  std::vector<std::vector<uint8_t>> files;
  for (const ImageRecord& image : part.images) {
    files.push_back(read_stored(image.file, 0, whole_file));
    if (files.back().empty()) throw InputError("this image cannot be read", image.file.string());
  }
  LoaderBenchmark result;
  result.images = static_cast<int>(part.images.size());
  result.workers = options.workers;
  const Rate before = measure_decode(files, options.seconds / 2);
  result.cached = measure_samples(part, options, true);
  result.uncached = measure_samples(part, options, false);
  if (painted_by_cpu_alone(options.augment).empty()) result.pictures = measure_pictures(part, options);
  result.decode = mean(before, measure_decode(files, options.seconds / 2));
  return result;
}

}  // namespace brightnet
