#include "data/loader/picture_block.h"

#include <cstring>

#include "core/error.h"

namespace brightnet {
namespace {

Stroke stroke_of(const PlacedImage& placed, const SampledImage& read) {
  Stroke s;
  const auto set_corners = [](const auto& rectangle, auto& left, auto& top, auto& right, auto& bottom) {
    using Number = std::remove_reference_t<decltype(left)>;
    left = static_cast<Number>(rectangle.x);
    top = static_cast<Number>(rectangle.y);
    right = static_cast<Number>(rectangle.x + rectangle.width);
    bottom = static_cast<Number>(rectangle.y + rectangle.height);
  };
  set_corners(placed.seen, s.left, s.top, s.right, s.bottom);
  s.origin_x = placed.part.x;
  s.origin_y = placed.part.y;
  s.sampling = read.sampling;
  s.blend = placed.blend;
  s.grey = placed.pixels.grey;
  s.color = placed.color;
  set_corners(placed.box, s.box_left, s.box_top, s.box_right, s.box_bottom);
  s.edge = placed.edge;

  set_corners(read.shown, s.shown_left, s.shown_top, s.shown_right, s.shown_bottom);
  if (!read.shown.empty()) {
    s.from_x = static_cast<float>(read.region.left);
    s.from_y = static_cast<float>(read.region.top);
    s.step_x = static_cast<float>((read.region.right - read.region.left) / read.shown.width);
    s.step_y = static_cast<float>((read.region.bottom - read.region.top) / read.shown.height);
  }
  for (int i = 0; i < 9; ++i) s.to_image[i] = static_cast<float>(read.to_image.val[i]);
  set_corners(read.bounds, s.bounds_left, s.bounds_top, s.bounds_right, s.bounds_bottom);
  s.reduced_width = read.target.width;
  s.reduced_height = read.target.height;

  const ImageWindow& window = read.window;
  s.width = window.size.width;
  s.height = window.size.height;
  s.window_left = window.corner.x;
  s.window_top = window.corner.y;
  s.window_width = window.pixels.cols;
  return s;
}

}  // namespace

void PictureBlock::begin(std::byte* memory, const PictureLayout& layout) {
  memory_ = memory;
  layout_ = layout;
  used_ = 0;
  std::memset(memory, 0, layout.strokes_at());  // the counts
}

Stroke& PictureBlock::add_stroke(int picture) {
  int& count = reinterpret_cast<int*>(memory_)[picture];
  BRIGHTNET_CHECK(count < layout_.most_strokes, "a picture has more strokes than there is room for");
  auto* const strokes = reinterpret_cast<Stroke*>(memory_ + layout_.strokes_at());
  return strokes[picture * static_cast<size_t>(layout_.most_strokes) + (count++)];
}

void PictureBlock::add(int picture, const PlacedImage& placed, const SampledImage& read) {
  BRIGHTNET_CHECK(placed.pixels.blur == 0 && placed.pixels.noise == 0,
                  "a device paints no blur and no noise");
  Stroke stroke = stroke_of(placed, read);
  stroke.at = used_.fetch_add(read.window_bytes());
  add_stroke(picture) = stroke;
  const cv::Mat& pixels = read.window.pixels;
  const size_t row_bytes = pixels.cols * pixels.elemSize();
  std::byte* to = memory_ + layout_.pixels_at() + stroke.at;
  for (int y = 0; y < pixels.rows; ++y, to += row_bytes) std::memcpy(to, pixels.ptr(y), row_bytes);
}

PixelBlock PictureBlock::add_painted(int picture, const InputSize& size, int channels) {
  Stroke stroke;
  stroke.right = stroke.shown_right = stroke.width = stroke.window_width = size.width;
  stroke.bottom = stroke.shown_bottom = stroke.height = size.height;
  const size_t bytes = channels * static_cast<size_t>(size.pixels());
  stroke.at = used_.fetch_add(bytes);
  add_stroke(picture) = stroke;
  return dense_block(reinterpret_cast<uint8_t*>(memory_ + layout_.pixels_at() + stroke.at), size.width,
                     size.height, channels);
}

}  // namespace brightnet
