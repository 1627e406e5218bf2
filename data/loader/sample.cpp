#include "data/loader/sample.h"

#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "data/augment/boxes.h"
#include "data/augment/cover.h"
#include "data/augment/crop.h"
#include "data/augment/geometry.h"
#include "data/augment/mixup.h"
#include "data/augment/mosaic.h"
#include "data/augment/pixels.h"

namespace brightnet {
namespace {

InputPart edges_of(const cv::Rect& part) {
  return {static_cast<float>(part.x), static_cast<float>(part.y), static_cast<float>(part.br().x),
          static_cast<float>(part.br().y)};
}

/// The pixels of `part` that boxes of the whole input lie on, relative to it.
std::vector<cv::Rect> objects_in(const cv::Rect& part, std::span<const Truth> truths,
                                 const PixelBlock& whole) {
  std::vector<cv::Rect> objects;
  for (const Truth& truth : truths) {
    const Box& box = truth.box;
    const auto pixel = [](float place, int size, int corner) {
      return static_cast<int>(std::lround(place * static_cast<float>(size))) - corner;
    };
    objects.emplace_back(cv::Point(pixel(box.x - box.w / 2, whole.width, part.x),
                                   pixel(box.y - box.h / 2, whole.height, part.y)),
                         cv::Point(pixel(box.x + box.w / 2, whole.width, part.x),
                                   pixel(box.y + box.h / 2, whole.height, part.y)));
  }
  return objects;
}

InputSize size_of(const PixelBlock& out) {
  return {out.height, out.width};
}

/// The options without hue and saturation for a grey image, which has neither; darknet, too, changes the exposure
/// alone where channels=1.
AugmentOptions options_for(AugmentOptions options, int channels) {
  if (channels == 1) {
    options.hue = 0;
    options.saturation = 1;
  }
  return options;
}

void copy(const PixelBlock& from, const PixelBlock& to) {
  for (int y = 0; y < to.height; ++y) {
    const size_t row = static_cast<size_t>(y);
    std::memcpy(to.pixels + row * to.stride, from.pixels + row * from.stride, to.row_bytes());
  }
}

}  // namespace

SampleMaker::SampleMaker(const Dataset& dataset, const AugmentOptions& options, ImageCache& cache)
    : dataset_(dataset),
      options_(options_for(options, cache.channels())),
      channels_(cache.channels()),
      has_geometry_(draws_geometry(options_)),
      has_pixels_(draws_pixels(options_)),
      painter_(dataset, cache),
      paster_(dataset, options_, painter_) {}

void SampleMaker::make(const SampleName& name, const InputSize& size, uint8_t* pixels,
                       std::vector<Truth>& truths) {
  truths.clear();
  const auto stream = [&](Purpose purpose) { return Random(name.seed, purpose, name.epoch, name.position); };
  Streams streams{stream(Purpose::mosaic), stream(Purpose::augment), stream(Purpose::geometry),
                  stream(Purpose::pixels)};
  const PixelBlock out = dense_block(pixels, size.width, size.height, channels_);
  draw_picture(streams, name, out, truths);
  if (!name.plain) mix(streams, name, out, truths);
  Random random = stream(Purpose::cutout);
  const auto covers = draw_cutout(random, options_, size);
  if (covers.empty()) return;
  for (const cv::Rect& cover : covers) fill(block(out, cover));
  cover_boxes(truths, covers, size, options_.cutout_covered);
}

void SampleMaker::mix(Streams& streams, const SampleName& name, const PixelBlock& out,
                      std::vector<Truth>& truths) {
  const size_t bytes = out.stride * static_cast<size_t>(out.height);
  const auto draw_second = [&](std::vector<Truth>& objects) -> PixelBlock {
    second_.resize(bytes);
    const PixelBlock second = dense_block(second_.data(), out.width, out.height, channels_);
    SampleName other = name;
    other.image = draw_other(streams.choices, name);
    other.plain = false;
    draw_picture(streams, other, second, objects);
    return second;
  };
  if (streams.choices.chance(options_.mixup)) {
    draw_second(truths);
    blend_half(out.pixels, second_.data(), bytes);
  }
  Random paste(name.seed, Purpose::paste, name.epoch, name.position);
  paster_(paste, name.nearby, out, truths);
  Random cut(name.seed, Purpose::cutmix, name.epoch, name.position);
  if (!cut.chance(options_.cutmix)) return;
  const cv::Rect part = draw_rectangle(cut, options_.cutmix_size, size_of(out));
  second_truths_.clear();
  copy(block(draw_second(second_truths_), part), block(out, part));
  cover_boxes(truths, std::array{part}, size_of(out), 1 - options_.min_visible);
  clip_boxes(second_truths_, edges_of(part), size_of(out), options_.min_visible);
  truths.insert(truths.end(), second_truths_.begin(), second_truths_.end());
}

int SampleMaker::draw_other(Random& choices, const SampleName& name) const {
  if (!name.nearby.empty())
    return static_cast<int>(name.nearby[choices.below(static_cast<uint32_t>(name.nearby.size()))]);
  return static_cast<int>(choices.below(static_cast<uint32_t>(dataset_.images.size())));
}

SampleMaker::Drawn SampleMaker::draw_map(Streams& streams, int image, bool plain,
                                         const InputSize& size) const {
  const ImageRecord& record = dataset_.images[static_cast<size_t>(image)];
  ImageDraw draw = draw_image(streams.changes, options_);
  if (plain) draw.left = draw.right = draw.top = draw.bottom = 0;
  const Placement placement = place_crop(draw, record.width, record.height, size, options_.letterbox);
  if (!has_geometry_) return {homography_of(placement), draw.color};
  GeometryDraw geometry = draw_geometry(streams.geometry, options_);
  if (plain) geometry.gain = 1, geometry.translate_x = geometry.translate_y = 0;
  return {apply_geometry(placement, geometry, {record.width, record.height}, size, options_.letterbox),
          draw.color};
}

void SampleMaker::draw_picture(Streams& streams, const SampleName& name, const PixelBlock& out,
                               std::vector<Truth>& truths) {
  const InputSize size = size_of(out);
  int image = name.image;
  if (name.plain || !streams.choices.chance(options_.mosaic)) {
    const Drawn drawn = draw_map(streams, image, name.plain, size);
    return paint(streams, image, drawn, {0, 0, out.width, out.height}, out, truths);
  }
  const cv::Point centre = draw_mosaic_centre(streams.choices, size);
  for (int index = 0; index < 4; ++index) {
    if (index > 0) image = draw_other(streams.choices, name);
    const ImageRecord& record = dataset_.images[static_cast<size_t>(image)];
    Drawn drawn = draw_map(streams, image, false, size);
    drawn.map = move_to_quadrant(drawn.map, record.width, record.height, index, centre, size);
    paint(streams, image, drawn, mosaic_quadrant(index, centre, size), out, truths);
  }
}

void SampleMaker::paint(Streams& streams, int image, const Drawn& drawn, const cv::Rect& part,
                        const PixelBlock& out, std::vector<Truth>& truths) {
  painter_(image, drawn.map, part, drawn.color, out);
  const size_t earlier = truths.size();
  place_boxes(dataset_.images[static_cast<size_t>(image)].annotations, drawn.map, options_.warped_boxes,
              edges_of(part), size_of(out), options_.min_visible, truths);
  if (!has_pixels_) return;
  const PixelDraw draw = draw_pixels(streams.pixels, options_);
  const std::span<const Truth> own = std::span(truths).subspan(earlier);
  change_pixels(draw, block(out, part),
                draw.blurs_background ? objects_in(part, own, out) : std::vector<cv::Rect>());
}

}  // namespace brightnet
