// What tests of painting on a device share: images with detail everywhere, everything that a device paints switched on,
// and how far two pictures lie apart.
#pragma once

#include "data/loader/loader.h"
#include "tests/data/drawn_dataset.h"

namespace brightnet::testing {

/// Coloured, blurred noise between black and white, as JPEG and PNG by turns, with a box in each.
inline Dataset detailed_dataset(const std::filesystem::path& folder, int count) {
  Dataset dataset;
  dataset.classes = {"box"};
  for (int i = 0; i < count; ++i) {
    ImageRecord record;
    record.width = 90 + 13 * i;
    record.height = 150 - 11 * i;
    cv::Mat image(record.height, record.width, CV_8UC3);
    cv::RNG(static_cast<uint64_t>(i) + 1).fill(image, cv::RNG::UNIFORM, 0, 256);
    cv::GaussianBlur(image, image, {}, 1.5);
    cv::normalize(image, image, 0, 255, cv::NORM_MINMAX);
    record.file = folder / (std::to_string(i) + (i % 2 == 0 ? ".jpg" : ".png"));
    cv::imwrite(record.file.string(), image);
    record.annotations.push_back({10, 20, 50, 60, 0, false, false, 1600});
    dataset.images.push_back(record);
  }
  return dataset;
}

/// Batches of pictures of 96 × 128 pixels with flips, crops, colours, and whatever else a device paints.
inline Loader::Setup painted_setup(const Dataset& dataset, bool warped) {
  Loader::Setup setup;
  setup.dataset = &dataset;
  AugmentOptions& augment = setup.augment;
  augment.mosaic = 0.5f;
  augment.jitter = 0.3f;
  augment.hue = 0.1f;
  augment.mixup = augment.cutmix = augment.cutout = augment.copy_paste = augment.grey = 0.3f;
  augment.vertical_flip = augment.quarter_turns = 0.3f;
  augment.mosaic_off = 0.2f;
  if (warped) {
    augment.rotate = 25;
    augment.shear = 5;
    augment.scale = 0.4f;
    augment.perspective = 0.0005f;
  }
  setup.batch = 4;
  setup.sizes = {InputSize(96, 128)};
  setup.seed = 11;
  setup.epochs = 2;
  return setup;
}

struct Difference {
  size_t values = 0, beyond_one = 0;
  int most = 0;
  void add(const uint8_t* a, const uint8_t* b, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const int by = std::abs(int{a[i]} - int{b[i]});
      beyond_one += by > 1;
      most = std::max(most, by);
    }
    values += count;
  }
};

}  // namespace brightnet::testing
