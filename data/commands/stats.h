// `brightnet data stats`: the statistics of a data set that matter for training.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "data/dataset.h"

namespace brightnet {

/// Percentiles of a quantity; all 0 when there is nothing to rank.
struct Percentiles {
  static constexpr std::array<int, 7> ranks{0, 5, 25, 50, 75, 95, 100};
  std::array<double, 7> values{};
};

/// The percentiles of `values`, by linear interpolation between the two nearest ranks.
Percentiles percentiles(std::vector<double> values);

struct DatasetStats {
  struct ClassStats {
    std::string name;
    size_t boxes = 0;
    size_t images = 0;  ///< number of images with at least one box of the class
  };
  size_t images = 0;
  size_t background = 0;  ///< images without an object
  size_t boxes = 0;
  size_t crowds = 0, difficult = 0;  ///< how many of the boxes are marked so
  std::vector<ClassStats> classes;
  size_t small = 0, medium = 0, large = 0;  ///< COCO's: area below 32², below 96², and the rest, in pixels²
  Percentiles image_width, image_height;    ///< pixels
  Percentiles box_width, box_height;        ///< pixels
  Percentiles box_share;                    ///< root of the box's area over the image's, in (0, 1]
  Percentiles boxes_per_image;

  /// Tables of plain text.
  std::string text() const;
  /// The members by their names; a percentile as {"p0", "p5", "p25", "p50", "p75", "p95", "p100"}.
  nlohmann::json json() const;
};

DatasetStats dataset_stats(const Dataset& dataset);

}  // namespace brightnet
