#include "data/loader/sample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "data/augment/boxes.h"
#include "data/augment/mixup.h"
#include "data/augment/mosaic.h"

namespace brightnet {
namespace {

PixelBlock block(const PixelBlock& whole, const cv::Rect& part) {
  return {whole.pixels + static_cast<size_t>(part.y) * whole.stride + 3 * static_cast<size_t>(part.x),
          whole.stride, part.width, part.height};
}

void fill(const PixelBlock& out) {
  for (int y = 0; y < out.height; ++y) {
    std::memset(out.pixels + static_cast<size_t>(y) * out.stride, fill_value,
                3 * static_cast<size_t>(out.width));
  }
}

// The pixels along one axis whose centres lie in [offset, offset + scale · length), within [low, high).
std::pair<int, int> covered(float scale, float offset, int length, int low, int high) {
  const float a = offset, b = offset + scale * static_cast<float>(length);
  // Limits first, as floats: a placement may reach farther than an int.
  const auto pixel = [&](float edge) {
    return static_cast<int>(
        std::ceil(std::clamp(edge - 0.5f, static_cast<float>(low), static_cast<float>(high))));
  };
  return {pixel(std::min(a, b)), pixel(std::max(a, b))};
}

// The rectangles around `inner` in `outer`.
void fill_around(const PixelBlock& out, const cv::Rect& outer, const cv::Rect& inner) {
  fill(block(out, {outer.tl(), cv::Point(outer.br().x, inner.y)}));
  fill(block(out, {cv::Point(outer.x, inner.br().y), outer.br()}));
  fill(block(out, {cv::Point(outer.x, inner.y), cv::Point(inner.x, inner.br().y)}));
  fill(block(out, {cv::Point(inner.br().x, inner.y), cv::Point(outer.br().x, inner.br().y)}));
}

ImageView view(const ImageWindow& image) {
  return {image.pixels.ptr<uint8_t>(),
          image.pixels.step[0],
          image.size.width,
          image.size.height,
          image.corner.x,
          image.corner.y,
          image.corner.x + image.pixels.cols,
          image.corner.y + image.pixels.rows};
}

// The region (in pixels of the file) and what the filter reads around it, in fractions of the image.
cv::Rect2d with_reach(const Region& region, cv::Size to, const ImageRecord& record, int reduction) {
  const auto reach = [&](double extent, int pixels) {
    return reduction * ResizeFilter::reach(extent / reduction, pixels);
  };
  const double x = reach(std::abs(region.right - region.left), to.width);
  const double y = reach(region.bottom - region.top, to.height);
  const double left = std::min(region.left, region.right) - x,
               right = std::max(region.left, region.right) + x;
  const double top = region.top - y, bottom = region.bottom + y;
  return {left / record.width, top / record.height, (right - left) / record.width,
          (bottom - top) / record.height};
}

}  // namespace

void paint_image(ImageCache& cache, const Dataset& dataset, int image, const Placement& placement,
                 const cv::Rect& part, const ColorChange& color, const PixelBlock& out,
                 ResizeFilter& resize) {
  const ImageRecord& record = dataset.images[static_cast<size_t>(image)];
  const auto [left, right] =
      covered(placement.scale_x, placement.offset_x, record.width, part.x, part.br().x);
  const auto [top, bottom] =
      covered(placement.scale_y, placement.offset_y, record.height, part.y, part.br().y);
  if (left >= right || top >= bottom) return fill(block(out, part));
  const cv::Rect shown(cv::Point(left, top), cv::Point(right, bottom));
  fill_around(out, part, shown);

  const auto back = [](int pixel, float scale, float offset) {
    return (static_cast<double>(pixel) - static_cast<double>(offset)) / static_cast<double>(scale);
  };
  Region region{back(left, placement.scale_x, placement.offset_x),
                back(top, placement.scale_y, placement.offset_y),
                back(right, placement.scale_x, placement.offset_x),
                back(bottom, placement.scale_y, placement.offset_y)};
  const ImageWindow decoded =
      cache.get(image, with_reach(region, shown.size(), record, cache.reduction(image)));
  const double x = static_cast<double>(decoded.size.width) / record.width;
  const double y = static_cast<double>(decoded.size.height) / record.height;
  region = {region.left * x, region.top * y, region.right * x, region.bottom * y};
  resize(view(decoded), region, block(out, shown), color);
}

SampleMaker::SampleMaker(const Dataset& dataset, const AugmentOptions& options, ImageCache& cache)
    : dataset_(dataset), options_(options), cache_(cache) {}

void SampleMaker::make(const SampleName& name, int size, uint8_t* pixels, std::vector<Truth>& truths) {
  truths.clear();
  Random choices(name.seed, Purpose::mosaic, name.epoch, name.position);
  Random changes(name.seed, Purpose::augment, name.epoch, name.position);
  const size_t stride = 3 * static_cast<size_t>(size);
  draw_picture(choices, changes, name.image, name.plain, {pixels, stride, size, size}, truths);
  if (name.plain || !choices.chance(options_.mixup)) return;
  second_.resize(stride * static_cast<size_t>(size));
  const int other = static_cast<int>(choices.below(static_cast<uint32_t>(dataset_.images.size())));
  draw_picture(choices, changes, other, name.plain, {second_.data(), stride, size, size}, truths);
  blend_half(pixels, second_.data(), second_.size());
}

void SampleMaker::draw_picture(Random& choices, Random& changes, int image, bool plain, const PixelBlock& out,
                               std::vector<Truth>& truths) {
  const int size = out.width;
  const auto record = [&]() -> const ImageRecord& { return dataset_.images[static_cast<size_t>(image)]; };
  const auto placed = [&](const ImageDraw& draw) {
    return place_crop(draw, record().width, record().height, size, options_.letterbox);
  };
  if (plain || !choices.chance(options_.mosaic)) {
    const ImageDraw draw = draw_image(changes, options_);
    return paint(image, placed(draw), {0, 0, size, size}, draw.color, out, truths);
  }
  const cv::Point centre = draw_mosaic_centre(choices, size);
  for (int index = 0; index < 4; ++index) {
    if (index > 0) image = static_cast<int>(choices.below(static_cast<uint32_t>(dataset_.images.size())));
    const ImageDraw draw = draw_image(changes, options_);
    const Placement placement =
        move_to_quadrant(placed(draw), record().width, record().height, index, centre, size);
    paint(image, placement, mosaic_quadrant(index, centre, size), draw.color, out, truths);
  }
}

void SampleMaker::paint(int image, const Placement& placement, const cv::Rect& part, const ColorChange& color,
                        const PixelBlock& out, std::vector<Truth>& truths) {
  paint_image(cache_, dataset_, image, placement, part, color, out, resize_);
  const InputPart seen{static_cast<float>(part.x), static_cast<float>(part.y),
                       static_cast<float>(part.br().x), static_cast<float>(part.br().y)};
  place_boxes(dataset_.images[static_cast<size_t>(image)].annotations, placement, seen, out.width,
              options_.min_visible, truths);
}

}  // namespace brightnet
