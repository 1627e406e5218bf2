#include "data/loader/paint.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <opencv2/core/utility.hpp>

namespace brightnet {
namespace {

// The pixels along one axis whose centres lie in [offset, offset + scale · length), within [low, high).
std::pair<int, int> covered(float scale, float offset, int length, int low, int high) {
  const float a = offset, b = offset + scale * static_cast<float>(length);
  // Clamped while still a float, since a placement may reach farther than an int can hold.
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
          image.corner.y + image.pixels.rows,
          image.pixels.channels()};
}

// The region (in pixels of the file) and what the filter reads around it, in fractions of the image.
cv::Rect2d with_reach(const Region& region, cv::Size to, const ImageRecord& record, int reduction) {
  const auto reach = [&](double extent, int pixels) {
    return reduction * ResizeFilter::reach(extent / reduction, pixels);
  };
  const double x = reach(std::abs(region.right - region.left), to.width);
  const double y = reach(std::abs(region.bottom - region.top), to.height);
  const double left = std::min(region.left, region.right) - x,
               right = std::max(region.left, region.right) + x;
  const double top = std::min(region.top, region.bottom) - y,
               bottom = std::max(region.top, region.bottom) + y;
  return {left / record.width, top / record.height, (right - left) / record.width,
          (bottom - top) / record.height};
}

// How the warped image is sampled, in pixels of the file: what is shown of it, and how far apart along its
// axes the centres of neighbouring pixels of the input are, in the middle of that.
struct Sampling {
  cv::Rect2d shown;
  double step_x = 1, step_y = 1;
};

Sampling sampling_of(const Homography& to_image, const std::vector<cv::Point2d>& visible) {
  Sampling sampling;
  std::vector<cv::Point2d> points;
  cv::Point2d middle;
  for (const cv::Point2d& point : visible) {
    middle += point / static_cast<double>(visible.size());
    if (const auto at = project(to_image, point)) points.push_back(*at);
  }
  sampling.shown = bounds_of(points);
  const auto at = project(to_image, middle), right = project(to_image, middle + cv::Point2d(1, 0)),
             below = project(to_image, middle + cv::Point2d(0, 1));
  if (!at || !right || !below) return sampling;
  sampling.step_x = std::hypot(right->x - at->x, below->x - at->x);
  sampling.step_y = std::hypot(right->y - at->y, below->y - at->y);
  return sampling;
}

// Steps up to this are left to the bilinear filter; longer ones would alias, and the image is first reduced
// to steps of the second length.
constexpr double longest_step = 1.5, reduced_step = 1.2;

double reduction_for(double step) {
  return step > longest_step ? step / reduced_step : 1.0;
}

Homography scaled(double x, double y, const Homography& map) {
  return Homography(x, 0, 0, 0, y, 0, 0, 0, 1) * map;
}

}  // namespace

PixelBlock block(const PixelBlock& whole, const cv::Rect& part) {
  PixelBlock block = whole;
  block.width = part.x;
  block.pixels += static_cast<size_t>(part.y) * whole.stride + block.row_bytes();
  block.width = part.width;
  block.height = part.height;
  return block;
}

void fill(const PixelBlock& out) {
  for (int y = 0; y < out.height; ++y) {
    std::memset(out.pixels + static_cast<size_t>(y) * out.stride, fill_value, out.row_bytes());
  }
}

void Painter::operator()(int image, const Placement& placement, const cv::Rect& part,
                         const ColorChange& color, const PixelBlock& out) {
  const ImageRecord& record = dataset_.images[static_cast<size_t>(image)];
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
      cache_.get(image, with_reach(region, shown.size(), record, cache_.reduction(image)));
  const double x = static_cast<double>(decoded.size.width) / record.width;
  const double y = static_cast<double>(decoded.size.height) / record.height;
  region = {region.left * x, region.top * y, region.right * x, region.bottom * y};
  resize_(view(decoded), region, block(out, shown), color);
}

void Painter::operator()(int image, const Homography& map, const cv::Rect& part, const ColorChange& color,
                         const PixelBlock& out) {
  if (const auto straight = placement_of(map)) return (*this)(image, *straight, part, color, out);
  if (const auto turned = placement_of(transposed(map)))
    return paint_turned(image, *turned, part, color, out);
  paint_warped(image, map, part, color, out);
}

// Paints an image that is rotated by a quarter turn, mirrored or not: it is painted with x and y exchanged, and the
// result is transposed.
void Painter::paint_turned(int image, const Placement& placement, const cv::Rect& part,
                           const ColorChange& color, const PixelBlock& out) {
  const cv::Rect exchanged(part.y, part.x, part.height, part.width);
  const cv::Rect whole(0, 0, exchanged.width, exchanged.height);
  Placement to_scratch = placement;
  to_scratch.offset_x -= static_cast<float>(exchanged.x);
  to_scratch.offset_y -= static_cast<float>(exchanged.y);
  const auto channels = static_cast<size_t>(out.channels);
  turned_.resize(channels * static_cast<size_t>(whole.area()));
  const PixelBlock scratch = dense_block(turned_.data(), whole.width, whole.height, out.channels);
  (*this)(image, to_scratch, whole, color, scratch);
  const PixelBlock target = block(out, part);
  for (int y = 0; y < target.height; ++y) {
    uint8_t* to = target.pixels + static_cast<size_t>(y) * target.stride;
    const uint8_t* from = scratch.pixels + channels * static_cast<size_t>(y);
    for (int x = 0; x < target.width; ++x) {
      std::memcpy(to + channels * static_cast<size_t>(x), from + static_cast<size_t>(x) * scratch.stride,
                  channels);
    }
  }
}

void Painter::paint_warped(int image, const Homography& map, const cv::Rect& part, const ColorChange& color,
                           const PixelBlock& out) {
  const ImageRecord& record = dataset_.images[static_cast<size_t>(image)];
  const cv::Rect2d whole(0, 0, record.width, record.height);
  const auto visible = project(map, corners_of(whole), cv::Rect2d(part));
  if (visible.size() < 3) return fill(block(out, part));
  const Homography to_image = map.inv() * Homography(1, 0, part.x, 0, 1, part.y, 0, 0, 1);
  const Sampling sampling = sampling_of(map.inv(), visible);
  const int decoded_at = cache_.reduction(image);
  const double reduce_x = reduction_for(sampling.step_x / decoded_at),
               reduce_y = reduction_for(sampling.step_y / decoded_at);
  // Two pixels more on each side than are shown, of the image as it is sampled, because the filter reads them.
  const double margin_x = 2 * decoded_at * reduce_x, margin_y = 2 * decoded_at * reduce_y;
  const cv::Rect2d needed =
      cv::Rect2d(sampling.shown.x - margin_x, sampling.shown.y - margin_y,
                 sampling.shown.width + 2 * margin_x, sampling.shown.height + 2 * margin_y) &
      whole;
  if (reduce_x == 1 && reduce_y == 1) {
    const ImageWindow decoded =
        cache_.get(image, {needed.x / record.width, needed.y / record.height, needed.width / record.width,
                           needed.height / record.height});
    const cv::Size size = decoded.size;
    const double x = static_cast<double>(size.width) / record.width,
                 y = static_cast<double>(size.height) / record.height;
    return warp_(view(decoded), scaled(x, y, to_image),
                 {0, 0, static_cast<double>(size.width), static_cast<double>(size.height)}, block(out, part),
                 color);
  }
  const int width = std::max(1, static_cast<int>(std::ceil(needed.width / (decoded_at * reduce_x))));
  const int height = std::max(1, static_cast<int>(std::ceil(needed.height / (decoded_at * reduce_y))));
  reduced_.resize(static_cast<size_t>(out.channels) * static_cast<size_t>(width) *
                  static_cast<size_t>(height));
  const PixelBlock reduced = dense_block(reduced_.data(), width, height, out.channels);
  const double x = width / needed.width, y = height / needed.height;
  const Placement placement{static_cast<float>(x), static_cast<float>(y), static_cast<float>(-needed.x * x),
                            static_cast<float>(-needed.y * y)};
  (*this)(image, placement, {0, 0, width, height}, {}, reduced);
  const ImageView seen{reduced_.data(), reduced.stride, width, height, 0, 0, width, height, out.channels};
  const Homography to_reduced =
      scaled(x, y, Homography(1, 0, -needed.x, 0, 1, -needed.y, 0, 0, 1) * to_image);
  warp_(seen, to_reduced, {-needed.x * x, -needed.y * y, record.width * x, record.height * y},
        block(out, part), color);
}

}  // namespace brightnet
