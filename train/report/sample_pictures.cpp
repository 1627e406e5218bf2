#include "train/report/sample_pictures.h"

#include "data/augment/boxes.h"
#include "data/drawing/draw.h"
#include "data/image/grey.h"
#include "data/loader/loader.h"
#include "data/loader/sampler.h"
#include "detect/input_loader.h"
#include "detect/sources/dataset_source.h"

namespace brightnet {
namespace {

SamplePicture picture(const uint8_t* pixels, const InputSize& size, int channels,
                      const std::vector<Truth>& truths, const std::vector<std::string>& classes) {
  SamplePicture drawn{rgb_of(pixels, size, channels), truths.size()};
  draw_truths(drawn.rgb, truths, classes);
  return drawn;
}

/// What the samples are, and not how fast they come, is the run's.
LoaderOptions one_worker(LoaderOptions options) {
  options.workers = 1;
  options.prefetch = LoaderOptions().prefetch;
  options.cache_mb = 0;
  return options;
}

uint64_t epoch_of(const SamplePictureOptions& options) {
  return options.epoch_samples > 0 ? options.epoch_samples : static_cast<uint64_t>(options.count);
}

}  // namespace

std::vector<int> sample_images(const Dataset& dataset, const LoaderOptions& loader,
                               const SamplePictureOptions& options) {
  const uint64_t epoch = epoch_of(options);
  Sampler sampler(static_cast<int>(dataset.images.size()), 1, {}, options.seed, epoch,
                  runs_of(dataset, loader));
  std::vector<SamplePosition> samples;
  std::vector<int> images;
  for (uint64_t number = 0; number < static_cast<uint64_t>(options.count); ++number) {
    sampler.batch(number / epoch, number % epoch, samples);
    images.push_back(samples[0].image);
  }
  return images;
}

void picture_samples(const Dataset& dataset, const RunConfig& config, const SamplePictureOptions& options,
                     const std::function<void(int number, const SamplePicture&)>& use) {
  int number = 0;
  const int channels = config.input.channels == 1 ? 1 : 3;
  if (options.augmented()) {
    Loader::Setup setup;
    setup.dataset = &dataset;
    setup.augment = config.augment;
    setup.loader = one_worker(config.loader);
    setup.sizes = {config.train.size};
    setup.channels = channels;
    setup.seed = options.seed;
    setup.steps_per_epoch = epoch_of(options);
    setup.end = RunEnd{static_cast<uint64_t>(options.count), options.plain_from};
    Loader loader(setup);
    while (const Batch* batch = loader.next())
      use(number++,
          picture(batch->pixels, {batch->height, batch->width}, channels, batch->truths[0], dataset.classes));
    return;
  }
  const InputSize size = options.split == Split::train ? config.train.size.value() : config.evaluation_size();
  const InputFit fit{.size = size, .letterbox = config.augment.letterbox, .channels = channels};
  DatasetSource source(dataset, sample_images(dataset, config.loader, options), fit);
  InputLoader loader(source, {.fit = fit});
  while (const auto* batch = loader.next()) {
    const ImageRecord& record = source.record(*batch->inputs[0].frame);
    std::vector<Truth> truths;
    place_boxes(record.annotations, place(record.width, record.height, fit), size, truths);
    use(number++,
        picture(static_cast<const uint8_t*>(batch->input), size, channels, truths, dataset.classes));
  }
}

}  // namespace brightnet
