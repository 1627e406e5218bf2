#include "detect/sources/dataset_source.h"

#include <cmath>

#include "core/error.h"
#include "data/image/darknet_image.h"
#include "data/loader/image_cache.h"

namespace brightnet {
namespace {

cv::Rect rect_of(const ImageTile& tile) {
  return {tile.x, tile.y, tile.width, tile.height};
}

/// All of the decoded pixels, computed as training does: from the pixels of the input, divided by the placement's scale.
/// Because that is a float, the region may end a fraction of a pixel beside the image's border.
Region region_of(cv::Size decoded, const ImageTile& part, const InputFit& fit) {
  const Placement placement = place(part.width, part.height, fit);
  const auto along = [](float scale, int side, int decoded_side) {
    const auto covered = static_cast<double>(std::lround(scale * side));
    return covered / static_cast<double>(scale) * (static_cast<double>(decoded_side) / side);
  };
  return {0, 0, along(placement.scale_x, part.width, decoded.width),
          along(placement.scale_y, part.height, decoded.height)};
}

}  // namespace

DatasetSource::DatasetSource(const Dataset& dataset, std::vector<int> order, const InputFit& fit,
                             const TileOptions& tiles)
    : dataset_(dataset), order_(std::move(order)), fit_(fit), tiles_(tiles) {
  for (const int image : order_)
    BRIGHTNET_CHECK(image >= 0 && static_cast<size_t>(image) < dataset.images.size(), "no such image");
}

bool DatasetSource::next(Frame& frame) {
  if (at_ == order_.size()) return false;
  frame = {};
  frame.record = order_[at_++];
  return true;
}

std::optional<cv::Size> DatasetSource::size(const Frame& frame) const {
  return cv::Size(record(frame).width, record(frame).height);
}

cv::Mat DatasetSource::read(const ImageRecord& record) const {
  const cv::Size at_least(fit_.size.width, fit_.size.height);
  if (!as_darknet(fit_.resize)) return read_record(record, at_least, {0, 0, 1, 1}, fit_.channels).pixels;
  const cv::Mat image = read_darknet_image(record.file, fit_.channels);
  return record.tile ? image(rect_of(record.tile)) : image;
}

/// Decodes a picture of several tiles. Other pictures are decoded by shown(), so that nothing holds their pixels after the
/// resize.
void DatasetSource::decode(Frame& frame, const InputFit&) const {
  const ImageRecord& picture = record(frame);
  if (!tiles_ || tiles_of(picture.width, picture.height, tiles_).size() == 1) return;
  ImageRecord at_its_own_scale = picture;
  at_its_own_scale.tile = {0, 0, picture.width, picture.height, picture.width, picture.height};
  frame.image = read(at_its_own_scale);
}

ShownPixels DatasetSource::shown(const Frame& frame, const ImageTile& part, const InputFit& fit) const {
  const bool decoded = !part.whole() || (as_darknet(fit_.resize) && !frame.image.empty());
  ShownPixels shown;
  shown.pixels = decoded ? frame.image(rect_of(part)) : read(record(frame));
  shown.size = {part.width, part.height};
  shown.region = region_of(shown.pixels.size(), part, fit);
  return shown;
}

}  // namespace brightnet
