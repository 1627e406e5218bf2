#include "data/loader/paint.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "data/augment/mixup.h"

namespace brightnet {
namespace {

// The pixels along one axis whose centres lie in [offset, offset + scale · length), within [low, high).
std::pair<int, int> covered(float scale, float offset, int length, int low, int high) {
  const float a = offset, b = offset + scale * length;
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
struct WarpSteps {
  cv::Rect2d shown;
  double step_x = 1, step_y = 1;
};

WarpSteps sampling_of(const Homography& to_image, const std::vector<cv::Point2d>& visible) {
  WarpSteps sampling;
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

void transpose(const PixelBlock& from, const PixelBlock& to) {
  const auto channels = static_cast<size_t>(to.channels);
  for (int y = 0; y < to.height; ++y) {
    uint8_t* row = to.pixels + y * to.stride;
    const uint8_t* column = from.pixels + channels * y;
    for (int x = 0; x < to.width; ++x) std::memcpy(row + channels * x, column + x * from.stride, channels);
  }
}

Homography scaled(double x, double y, const Homography& map) {
  return Homography(x, 0, 0, 0, y, 0, 0, 0, 1) * map;
}

PixelBlock workspace(std::vector<uint8_t>& memory, cv::Size size, int channels) {
  memory.resize(channels * static_cast<size_t>(size.area()));
  return dense_block(memory.data(), size.width, size.height, channels);
}

/// Blends an image's pixels of placed.seen with those that are there.
void blend(const PixelBlock& own, const PlacedImage& placed, const PixelBlock& out) {
  for (int y = 0; y < out.height; ++y) {
    const size_t row = y, channels = out.channels;
    const uint8_t* from = own.pixels + row * own.stride;
    uint8_t* to = out.pixels + row * out.stride;
    switch (placed.blend) {
      case Blend::replace: std::memcpy(to, from, out.row_bytes()); break;
      case Blend::half: blend_half(to, from, out.row_bytes()); break;
      case Blend::soft:
        for (int x = 0; x < out.width; ++x) {
          const float share = placed.share(placed.seen.x + x, placed.seen.y + y);
          for (size_t c = 0; c < channels; ++c, ++from, ++to) *to = soft_blend(*to, *from, share);
        }
        break;
    }
  }
}

}  // namespace

PixelBlock block(const PixelBlock& whole, const cv::Rect& part) {
  PixelBlock block = whole;
  block.width = part.x;
  block.pixels += part.y * whole.stride + block.row_bytes();
  block.width = part.width;
  block.height = part.height;
  return block;
}

void fill(const PixelBlock& out) {
  for (int y = 0; y < out.height; ++y) {
    std::memset(out.pixels + y * out.stride, fill_value, out.row_bytes());
  }
}

SampledImage Painter::read(const PlacedImage& placed) {
  const Homography& map = placed.map;
  const cv::Rect& part = placed.part;
  const int image = placed.image;
  if (image == PlacedImage::none) return {};
  if (const auto straight = placement_of(map)) return read_straight(image, *straight, part);
  const auto turned = placement_of(transposed(map));
  if (!turned) return read_warped(image, map, part);
  // Painted with x and y exchanged, in coordinates that begin at the part.
  Placement exchanged = *turned;
  exchanged.offset_x -= part.y;
  exchanged.offset_y -= part.x;
  SampledImage read = read_straight(image, exchanged, {0, 0, part.height, part.width});
  read.sampling = Sampling::turned;
  return read;
}

/// Reads exactly what is needed, whatever is cached: how much a sample reads does not depend on that.
ImageWindow Painter::read_window(int image, const cv::Rect2d& needed) {
  ImageWindow read = cache_.get(image, needed);
  const cv::Rect there(read.corner, read.pixels.size());
  const cv::Rect wanted = touched_pixels(read.size, needed) & there;
  return {read.pixels(wanted - read.corner), read.size, wanted.tl()};
}

SampledImage Painter::read_straight(int image, const Placement& placement, const cv::Rect& part) {
  const ImageRecord& record = dataset_.images[image];
  SampledImage sampled;
  sampled.target = part.size();
  const auto [left, right] =
      covered(placement.scale_x, placement.offset_x, record.width, part.x, part.br().x);
  const auto [top, bottom] =
      covered(placement.scale_y, placement.offset_y, record.height, part.y, part.br().y);
  if (left >= right || top >= bottom) return sampled;
  const cv::Rect shown(cv::Point(left, top), cv::Point(right, bottom));
  sampled.shown = shown - part.tl();

  const auto back = [](int pixel, float scale, float offset) {
    return (pixel - static_cast<double>(offset)) / static_cast<double>(scale);
  };
  const Region region{back(left, placement.scale_x, placement.offset_x),
                      back(top, placement.scale_y, placement.offset_y),
                      back(right, placement.scale_x, placement.offset_x),
                      back(bottom, placement.scale_y, placement.offset_y)};
  sampled.window = read_window(image, with_reach(region, shown.size(), record, cache_.reduction(image)));
  const double x = static_cast<double>(sampled.window.size.width) / record.width;
  const double y = static_cast<double>(sampled.window.size.height) / record.height;
  sampled.region = {region.left * x, region.top * y, region.right * x, region.bottom * y};
  return sampled;
}

SampledImage Painter::read_warped(int image, const Homography& map, const cv::Rect& part) {
  const ImageRecord& record = dataset_.images[image];
  const cv::Rect2d whole(0, 0, record.width, record.height);
  const auto visible = project(map, corners_of(whole), cv::Rect2d(part));
  if (visible.size() < 3) return {};
  const Homography to_image = map.inv() * Homography(1, 0, part.x, 0, 1, part.y, 0, 0, 1);
  const WarpSteps sampling = sampling_of(map.inv(), visible);
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
    SampledImage sampled;
    sampled.sampling = Sampling::warped;
    sampled.window = read_window(image, {needed.x / record.width, needed.y / record.height,
                                         needed.width / record.width, needed.height / record.height});
    const cv::Size2d size(sampled.window.size);
    sampled.to_image = scaled(size.width / record.width, size.height / record.height, to_image);
    sampled.bounds = {0, 0, size.width, size.height};
    return sampled;
  }
  const cv::Size size(std::max(1, static_cast<int>(std::ceil(needed.width / (decoded_at * reduce_x)))),
                      std::max(1, static_cast<int>(std::ceil(needed.height / (decoded_at * reduce_y)))));
  const double x = size.width / needed.width, y = size.height / needed.height;
  const Placement placement{static_cast<float>(x), static_cast<float>(y), static_cast<float>(-needed.x * x),
                            static_cast<float>(-needed.y * y)};
  SampledImage sampled = read_straight(image, placement, {{}, size});
  sampled.sampling = Sampling::reduced;
  sampled.to_image = scaled(x, y, Homography(1, 0, -needed.x, 0, 1, -needed.y, 0, 0, 1) * to_image);
  sampled.bounds = {-needed.x * x, -needed.y * y, record.width * x, record.height * y};
  return sampled;
}

void Painter::resize(const SampledImage& image, const ColorChange& color, const PixelBlock& out) {
  if (image.shown.empty()) return fill(out);
  fill_around(out, {{}, image.target}, image.shown);
  resize_(view(image.window), image.region, block(out, image.shown), color);
}

void Painter::resample(const SampledImage& image, const ColorChange& color, const PixelBlock& out) {
  switch (image.sampling) {
    case Sampling::straight: return resize(image, color, out);
    case Sampling::turned: {
      const PixelBlock exchanged = workspace(between_, image.target, out.channels);
      resize(image, color, exchanged);
      return transpose(exchanged, out);
    }
    case Sampling::warped: return warp_(view(image.window), image.to_image, image.bounds, out, color);
    case Sampling::reduced: {
      const PixelBlock reduced = workspace(between_, image.target, out.channels);
      resize(image, {}, reduced);
      const ImageView seen{reduced.pixels, reduced.stride, reduced.width, reduced.height, 0, 0,
                           reduced.width,  reduced.height, out.channels};
      return warp_(seen, image.to_image, image.bounds, out, color);
    }
  }
}

void Painter::paint(const PlacedImage& placed, const SampledImage& read, const PixelBlock& out) {
  const cv::Rect& part = placed.part;
  const bool whole = placed.blend == Blend::replace && placed.seen == part;
  const PixelBlock own = whole ? block(out, part) : workspace(own_, part.size(), out.channels);
  resample(read, placed.color, own);
  change_pixels(placed.pixels, own, placed.objects);
  if (!whole) blend(block(own, placed.seen - part.tl()), placed, block(out, placed.seen));
}

}  // namespace brightnet
