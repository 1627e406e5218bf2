#include "detect/rect_batches.h"

#include <algorithm>
#include <cmath>

namespace brightnet {

InputSize least_input(int image_width, int image_height, const InputSize& size, int stride) {
  const double scale = std::min(static_cast<double>(size.width) / image_width,
                                static_cast<double>(size.height) / image_height);
  // The side is rounded up, unlike that of the letterbox: in a side that is a fraction of a pixel too small the scale
  // would be another.
  const auto whole = [&](int side, int most) {
    const auto shown = static_cast<int>(std::ceil(side * scale - 1e-6));
    return std::min(most, (shown + stride - 1) / stride * stride);
  };
  return {whole(image_height, size.height), whole(image_width, size.width)};
}

std::vector<int> in_order_of_ratio(const Dataset& dataset, std::vector<int> order) {
  const auto record = [&](int image) -> const ImageRecord& { return dataset.images[image]; };
  // Compares a.width / a.height with b.width / b.height without dividing.
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return int64_t{record(a).width} * record(b).height < int64_t{record(b).width} * record(a).height;
  });
  return order;
}

}  // namespace brightnet
