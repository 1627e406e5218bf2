#include "data/loader/sample.h"

#include <array>
#include <cmath>

#include "data/augment/boxes.h"
#include "data/augment/cover.h"
#include "data/augment/crop.h"
#include "data/augment/geometry.h"
#include "data/augment/mosaic.h"

namespace brightnet {
namespace {

InputPart edges_of(const cv::Rect& part) {
  return {static_cast<float>(part.x), static_cast<float>(part.y), static_cast<float>(part.br().x),
          static_cast<float>(part.br().y)};
}

/// The pixels of `part` that boxes of the whole input lie on, relative to it.
std::vector<cv::Rect> objects_in(const cv::Rect& part, std::span<const Truth> truths,
                                 const InputSize& whole) {
  std::vector<cv::Rect> objects;
  for (const Truth& truth : truths) {
    const Box& box = truth.box;
    const auto pixel = [](float place, int size, int corner) {
      return static_cast<int>(std::lround(place * size)) - corner;
    };
    objects.emplace_back(cv::Point(pixel(box.x - box.w / 2, whole.width, part.x),
                                   pixel(box.y - box.h / 2, whole.height, part.y)),
                         cv::Point(pixel(box.x + box.w / 2, whole.width, part.x),
                                   pixel(box.y + box.h / 2, whole.height, part.y)));
  }
  return objects;
}

constexpr int images_of_mosaic = 4;

cv::Rect whole_of(const InputSize& size) {
  return {0, 0, size.width, size.height};
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

}  // namespace

int most_placed_images(const AugmentOptions& options) {
  const int pictures = 1 + (options.mixup > 0) + (options.cutmix > 0);
  return images_of_mosaic * pictures + (options.copy_paste > 0 ? options.copy_paste_count : 0) +
         (options.cutout > 0 ? options.cutout_count : 0);
}

SampleMaker::SampleMaker(const Dataset& dataset, const AugmentOptions& options, ImageCache& cache)
    : dataset_(dataset),
      options_(options_for(options, cache.channels())),
      channels_(cache.channels()),
      has_geometry_(draws_geometry(options_)),
      has_pixels_(draws_pixels(options_)),
      painter_(dataset, cache),
      paster_(dataset, options_) {}

void SampleMaker::make(const SampleName& name, const InputSize& size, uint8_t* pixels,
                       std::vector<Truth>& truths) {
  draw(name, size, truths);
  const PixelBlock out = dense_block(pixels, size.width, size.height, channels_);
  for (const PlacedImage& placed : images_) painter_.paint(placed, painter_.read(placed), out);
}

bool SampleMaker::make(const SampleName& name, const InputSize& size, PictureBlock& block, int picture,
                       std::vector<Truth>& truths) {
  draw(name, size, truths);
  read_.clear();
  size_t bytes = 0;
  for (const PlacedImage& placed : images_) bytes += read_.emplace_back(painter_.read(placed)).window_bytes();
  const bool fits = block.has_room(bytes);
  if (fits) {
    for (size_t i = 0; i < images_.size(); ++i) block.add(picture, images_[i], read_[i]);
  } else {
    const PixelBlock out = block.add_painted(picture, size, channels_);
    for (size_t i = 0; i < images_.size(); ++i) painter_.paint(images_[i], read_[i], out);
  }
  read_.clear();  // they hold pixels that the cache may not keep
  return fits;
}

void SampleMaker::draw(const SampleName& name, const InputSize& size, std::vector<Truth>& truths) {
  truths.clear();
  images_.clear();
  const auto stream = [&](Purpose purpose) { return Random(name.seed, purpose, name.epoch, name.position); };
  Streams streams{stream(Purpose::mosaic), stream(Purpose::augment), stream(Purpose::geometry),
                  stream(Purpose::pixels)};
  draw_picture(streams, name, size, truths);
  if (!name.plain) mix(streams, name, size, truths);
  Random random = stream(Purpose::cutout);
  const auto covers = draw_cutout(random, options_, size);
  if (covers.empty()) return;
  for (const cv::Rect& cover : covers) images_.push_back({.part = cover, .seen = cover});
  cover_boxes(truths, covers, size, options_.cutout_covered);
}

void SampleMaker::mix(Streams& streams, const SampleName& name, const InputSize& size,
                      std::vector<Truth>& truths) {
  const auto draw_second = [&](std::vector<Truth>& objects) {
    SampleName other = name;
    other.image = draw_other(streams.choices, name);
    other.plain = false;
    const size_t earlier = images_.size();
    draw_picture(streams, other, size, objects);
    return std::span(images_).subspan(earlier);
  };
  if (streams.choices.chance(options_.mixup)) {
    for (PlacedImage& second : draw_second(truths)) second.blend = Blend::half;
  }
  Random paste(name.seed, Purpose::paste, name.epoch, name.position);
  paster_(paste, name.nearby, size, images_, truths);
  Random cut(name.seed, Purpose::cutmix, name.epoch, name.position);
  if (!cut.chance(options_.cutmix)) return;
  const cv::Rect part = draw_rectangle(cut, options_.cutmix_size, size);
  second_truths_.clear();
  for (PlacedImage& second : draw_second(second_truths_)) second.seen &= part;
  std::erase_if(images_, [](const PlacedImage& placed) { return placed.seen.empty(); });
  cover_boxes(truths, std::array{part}, size, 1 - options_.min_visible);
  clip_boxes(second_truths_, edges_of(part), size, options_.min_visible);
  truths.insert(truths.end(), second_truths_.begin(), second_truths_.end());
}

int SampleMaker::draw_other(Random& choices, const SampleName& name) const {
  return name.nearby.empty() ? choices.below(dataset_.images.size())
                             : name.nearby[choices.below(name.nearby.size())];
}

SampleMaker::Drawn SampleMaker::draw_map(Streams& streams, int image, bool plain,
                                         const InputSize& size) const {
  const ImageRecord& record = dataset_.images[image];
  ImageDraw draw = draw_image(streams.changes, options_);
  if (plain) draw.left = draw.right = draw.top = draw.bottom = 0;
  const Placement placement = place_crop(draw, record.width, record.height, size, options_.letterbox);
  if (!has_geometry_) return {homography_of(placement), draw.color};
  GeometryDraw geometry = draw_geometry(streams.geometry, options_);
  if (plain) geometry.gain = 1, geometry.translate_x = geometry.translate_y = 0;
  return {apply_geometry(placement, geometry, {record.width, record.height}, size, options_.letterbox),
          draw.color};
}

void SampleMaker::draw_picture(Streams& streams, const SampleName& name, const InputSize& size,
                               std::vector<Truth>& truths) {
  int image = name.image;
  if (name.plain || !streams.choices.chance(options_.mosaic)) {
    const Drawn drawn = draw_map(streams, image, name.plain, size);
    return place(streams, image, drawn, whole_of(size), size, truths);
  }
  const cv::Point centre = draw_mosaic_centre(streams.choices, size);
  for (int index = 0; index < images_of_mosaic; ++index) {
    if (index > 0) image = draw_other(streams.choices, name);
    const ImageRecord& record = dataset_.images[image];
    Drawn drawn = draw_map(streams, image, false, size);
    drawn.map = move_to_quadrant(drawn.map, record.width, record.height, index, centre, size);
    place(streams, image, drawn, mosaic_quadrant(index, centre, size), size, truths);
  }
}

void SampleMaker::place(Streams& streams, int image, const Drawn& drawn, const cv::Rect& part,
                        const InputSize& size, std::vector<Truth>& truths) {
  PlacedImage& placed = images_.emplace_back(
      PlacedImage{.image = image, .map = drawn.map, .part = part, .seen = part, .color = drawn.color});
  const size_t earlier = truths.size();
  place_boxes(dataset_.images[image].annotations, drawn.map, options_.warped_boxes, edges_of(part), size,
              options_.min_visible, truths);
  if (!has_pixels_) return;
  placed.pixels = draw_pixels(streams.pixels, options_);
  const std::span<const Truth> own = std::span(truths).subspan(earlier);
  if (placed.pixels.blurs_background) placed.objects = objects_in(part, own, size);
}

}  // namespace brightnet
