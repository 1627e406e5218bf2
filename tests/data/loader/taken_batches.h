// What the tests of the loader share: set-ups with everything random and with nothing random, and the batches
// of a loader as copies.
#pragma once

#include <cstring>
#include <map>
#include <thread>

#include "data/loader/loader.h"
#include "tests/data/drawn_dataset.h"

namespace brightnet::testing {

/// A copy of a batch that outlives the loader's.
struct Taken {
  std::vector<uint8_t> pixels;
  std::vector<std::vector<Truth>> truths;
  int size = 0, real = 0;
  uint64_t epoch = 0, step = 0;

  bool operator==(const Taken& other) const {
    if (pixels != other.pixels || size != other.size || real != other.real) return false;
    if (epoch != other.epoch || step != other.step || truths.size() != other.truths.size()) return false;
    for (size_t i = 0; i < truths.size(); ++i) {
      if (truths[i].size() != other.truths[i].size()) return false;
      for (size_t j = 0; j < truths[i].size(); ++j) {
        const Truth &a = truths[i][j], &b = other.truths[i][j];
        if (a.class_id != b.class_id || std::memcmp(&a.box, &b.box, sizeof a.box) != 0) return false;
      }
    }
    return true;
  }
};

/// A batch's pixels, painted where it has pictures.
inline std::vector<uint8_t> pixels_of(const Batch& batch) {
  const size_t row = static_cast<size_t>(batch.channels) * static_cast<size_t>(batch.width);
  std::vector<uint8_t> pixels(row * static_cast<size_t>(batch.count) * static_cast<size_t>(batch.height));
  if (batch.pixels) {
    std::copy_n(batch.pixels, pixels.size(), pixels.begin());
    return pixels;
  }
  uint8_t* out = pixels.data();
  for (int picture = 0; picture < batch.count; ++picture) {
    for (int y = 0; y < batch.height; ++y, out += row)
      paint_row(batch.pictures, picture, y, batch.width, batch.channels, out);
  }
  return pixels;
}

/// The batches that are left; before some of them, the end is moved.
inline std::vector<Taken> take_all(const Loader::Setup& setup, const std::map<size_t, RunEnd>& ends = {}) {
  Loader loader(setup);
  std::vector<Taken> taken;
  for (;;) {
    if (const auto end = ends.find(taken.size()); end != ends.end()) {
      // Workers prepare batches for the end of before.
      if (setup.loader.workers > 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      loader.set_end(end->second);
    }
    const Batch* batch = loader.next();
    if (!batch) break;
    Taken copy;
    copy.pixels = pixels_of(*batch);
    copy.truths = batch->truths;
    copy.size = batch->width;
    copy.real = batch->real;
    copy.epoch = batch->epoch;
    copy.step = batch->step;
    taken.push_back(std::move(copy));
  }
  return taken;
}

/// Everything that is random, switched on.
inline Loader::Setup busy_setup(const Dataset& dataset) {
  Loader::Setup setup;
  setup.dataset = &dataset;
  setup.augment.mosaic = 0.6f;
  setup.augment.mixup = 0.4f;
  setup.augment.resize = 1.3f;
  setup.augment.vertical_flip = setup.augment.quarter_turns = 0.3f;
  setup.augment.rotate = 20;
  setup.augment.shear = 5;
  setup.augment.scale = setup.augment.translate = 0.2f;
  setup.augment.perspective = 0.0005f;
  setup.augment.blur = setup.augment.noise = setup.augment.grey = 0.3f;
  setup.augment.cutout = setup.augment.cutmix = setup.augment.copy_paste = 0.4f;
  setup.batch = 3;
  setup.sizes = {64, 96};
  setup.size_every = 2;
  setup.seed = 7;
  setup.epochs = 3;
  return setup;
}

/// Pixels exactly as in the file and no randomness, so that a test can see which image it got.
inline Loader::Setup plain_setup(const Dataset& dataset) {
  Loader::Setup setup;
  setup.dataset = &dataset;
  setup.augment = {};
  setup.augment.mosaic = setup.augment.flip = setup.augment.jitter = setup.augment.hue = 0;
  setup.augment.saturation = setup.augment.exposure = 1;
  setup.sizes = {32};
  return setup;
}

/// Sixteen images, one flat grey each: 10 · (1 + index).
inline Dataset grey_dataset(const std::filesystem::path& folder, int count) {
  Dataset dataset;
  for (int i = 0; i < count; ++i) {
    ImageRecord record;
    record.file = folder / (std::to_string(i) + ".png");
    record.width = record.height = 8;
    cv::imwrite(record.file.string(), cv::Mat(8, 8, CV_8UC3, cv::Scalar::all(10 * (1 + i))));
    dataset.images.push_back(record);
  }
  return dataset;
}

inline std::vector<int> images_of(const Taken& batch) {
  std::vector<int> images;
  const size_t bytes = 3 * static_cast<size_t>(batch.size) * static_cast<size_t>(batch.size);
  for (size_t at = 0; at < batch.pixels.size(); at += bytes) images.push_back(batch.pixels[at] / 10 - 1);
  return images;
}

}  // namespace brightnet::testing
