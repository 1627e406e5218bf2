#include "data/image/turned_boxes.h"

namespace brightnet {

bool drawn_as_stored(cv::Size stated, const ImageInfo& image) {
  return image.orientation >= 5 && stated != image.shown &&
         stated == cv::Size(image.shown.height, image.shown.width);
}

cv::Point2d turned_point(cv::Point2d stored, const ImageInfo& image) {
  const double stored_width = image.shown.height, stored_height = image.shown.width;
  const double right = stored_width - stored.x, bottom = stored_height - stored.y;
  switch (image.orientation) {
    case 5: return {stored.y, stored.x};
    case 6: return {bottom, stored.x};
    case 7: return {bottom, right};
    default: return {stored.y, right};
  }
}

ImageInfo turned_back(const ImageInfo& image) {
  // 6 and 8 are quarter turns to either side; 5 and 7, which mirror as well, undo themselves.
  const int back = image.orientation == 6 ? 8 : image.orientation == 8 ? 6 : image.orientation;
  return {cv::Size(image.shown.height, image.shown.width), back};
}

}  // namespace brightnet
