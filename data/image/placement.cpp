#include "data/image/placement.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "data/image/darknet_image.h"

namespace brightnet {

Placement place(int image_width, int image_height, const InputSize& size, bool letterbox) {
  BRIGHTNET_CHECK(image_width > 0 && image_height > 0 && size.given(), "an image or input without pixels");
  int width = size.width, height = size.height;
  if (letterbox) {
    const double scale = std::min(static_cast<double>(size.width) / image_width,
                                  static_cast<double>(size.height) / image_height);
    width = std::max(1, static_cast<int>(std::lround(image_width * scale)));
    height = std::max(1, static_cast<int>(std::lround(image_height * scale)));
  }
  return {width / static_cast<float>(image_width), height / static_cast<float>(image_height),
          static_cast<float>((size.width - width) / 2), static_cast<float>((size.height - height) / 2)};
}

Placement place(int image_width, int image_height, const InputFit& fit) {
  return as_darknet(fit.resize) ? place_as_darknet(image_width, image_height, fit.size, fit.letterbox)
                                : place(image_width, image_height, fit.size, fit.letterbox);
}

}  // namespace brightnet
