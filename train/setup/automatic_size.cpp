#include "train/setup/automatic_size.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace brightnet {
namespace {

/// The median of the images' widths over their heights. It is where the sum of |log ratio − log r| is smallest, so that
/// an input of this ratio leaves the least room beside letterboxed images.
double usual_ratio(const Dataset& dataset) {
  std::vector<double> ratios;
  for (const ImageRecord& image : dataset.images) {
    if (image.width > 0 && image.height > 0)
      ratios.push_back(static_cast<double>(image.width) / image.height);
  }
  const auto middle = ratios.begin() + ratios.size() / 2;
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

/// The part of the input's pixels that letterboxed images cover, on average.
double covered(const Dataset& dataset, const InputSize& size) {
  const double ratio = static_cast<double>(size.width) / size.height;
  double sum = 0;
  for (const ImageRecord& image : dataset.images) {
    const double own = static_cast<double>(image.width) / image.height;
    sum += std::min(own / ratio, ratio / own);
  }
  return sum / dataset.images.size();
}

}  // namespace

InputSize fitting_size(const Dataset& training, const InputSize& usual, int stride) {
  const double ratio = usual_ratio(training), pixels = usual.pixels();
  const auto factor = [](double a, double b) { return std::abs(std::log(a / b)); };
  InputSize best;
  double least = std::numeric_limits<double>::infinity();
  const int most = largest_input_side / stride;
  for (int rows = 1; rows <= most; ++rows) {
    // The two widths around the ratio: rounding may go either way for the pixels.
    const int below = std::max(1, static_cast<int>(rows * ratio));
    for (const int columns : {below, below + 1}) {
      if (columns > most) continue;
      const InputSize size(rows * stride, columns * stride);
      const double off = factor(static_cast<double>(size.width) / size.height, ratio) +
                         factor(static_cast<double>(size.pixels()), pixels);
      if (off >= least) continue;
      least = off;
      best = size;
    }
  }
  return best;
}

std::optional<Choice> choose_size(RunConfig& config, const Dataset& training, const Model& model) {
  if (config.train.size.has_value()) return std::nullopt;
  if (training.images.empty()) {
    throw InputError("'train.size' is auto, and there are no training images to choose it by",
                     config.where("train.size"), "Give a size: --size 416, or HxW such as --size 384x1248.");
  }
  const InputSize size = fitting_size(training, model.size, model.stride);
  config.train.size = size;
  keep_ratio(config.train, config.where("train.sizes"));
  return Choice{
      "train.size", size.text(),
      fmt::format("the images' usual ratio is {:.3g}:1, and {} pixels are about as many as {}'s {}; "
                  "letterboxed images cover {:.0f} % of it, and {:.0f} % of a square",
                  usual_ratio(training), size.pixels(), model.name, model.size.described(),
                  100 * covered(training, size), 100 * covered(training, InputSize(1)))};
}

}  // namespace brightnet
