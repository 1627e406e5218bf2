#include "data/image/placement.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "data/image/darknet_image.h"

namespace brightnet {

Placement place(int image_width, int image_height, int size, bool letterbox) {
  BRIGHTNET_CHECK(image_width > 0 && image_height > 0 && size > 0, "an image or input without pixels");
  int width = size, height = size;
  if (letterbox) {
    const double scale = static_cast<double>(size) / std::max(image_width, image_height);
    width = std::max(1, static_cast<int>(std::lround(image_width * scale)));
    height = std::max(1, static_cast<int>(std::lround(image_height * scale)));
  }
  return {static_cast<float>(width) / static_cast<float>(image_width),
          static_cast<float>(height) / static_cast<float>(image_height),
          static_cast<float>((size - width) / 2), static_cast<float>((size - height) / 2)};
}

Placement place(int image_width, int image_height, const InputFit& fit) {
  return fit.resize == Resize::darknet ? place_as_darknet(image_width, image_height, fit.size, fit.letterbox)
                                       : place(image_width, image_height, fit.size, fit.letterbox);
}

}  // namespace brightnet
