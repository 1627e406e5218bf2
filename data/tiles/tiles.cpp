#include "data/tiles/tiles.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "core/random.h"
#include "core/text.h"

namespace brightnet {
namespace {

/// The first pixel of each tile along one axis.
std::vector<int> starts(int length, int side, float overlap) {
  if (length <= side) return {0};
  const double step = std::max(1.0, side * (1.0 - static_cast<double>(overlap)));
  // Tolerates rounding: tiles that overlap by a thousandth of a pixel less are no reason for one more.
  const int count = std::max(2, 1 + static_cast<int>(std::ceil((length - side) / step - 1e-3)));
  std::vector<int> found;
  for (int i = 0; i < count; ++i) {
    found.push_back(static_cast<int>(std::lround(static_cast<double>(length - side) * i / (count - 1))));
  }
  return found;
}

/// A picture has millions of smaller ones.
constexpr int smallest_tile = 32, largest_tile = 65536;

bool shows_object(const ImageRecord& tile) {
  return std::any_of(tile.annotations.begin(), tile.annotations.end(),
                     [](const auto& a) { return !a.crowd; });
}

}  // namespace

void TileOptions::fields(Fields& f) {
  f("size", size,
    "side of the tiles that pictures are cut into, in their pixels, 32 at least; 0: they are not cut")
      .within(size == 0 ? 0 : smallest_tile, largest_tile);
  f("overlap", overlap, "of neighbouring tiles, as a fraction of size").within(0, 0.9);
  f("min_visible", min_visible, "a box is left out of a tile that has less than this share of it")
      .within(0, 1);
  f("empty", empty, "share of the tiles without an object that is trained on").within(0, 1);
  f("whole", whole, "take the whole picture as well, for objects larger than a tile");
  f("merge", merge, "boxes of one object in several tiles; nmm: the box around them; nms: the best of them");
  f("match", match, "they are one object's by intersection over the smaller (ios) or over union (iou)");
  f("threshold", threshold, "of at least this").within(0.01f, 1);  // the float, which is below the double
}

TileOptions parse_tiles(const std::string& text, const std::string& where, const TileOptions& otherwise) {
  TileOptions options = otherwise;
  if (trimmed(text).starts_with('{')) {
    read_config(YamlDocument::parse(text, where).root(), options);
  } else {
    const std::string_view view = text;
    const size_t comma = view.find(',');
    const auto size = parse_number(view.substr(0, comma));
    const auto overlap = comma == std::string_view::npos ? std::optional<double>(options.overlap)
                                                         : parse_number(view.substr(comma + 1));
    if (!size || *size != std::floor(*size) || *size < smallest_tile || *size > largest_tile || !overlap ||
        *overlap < 0 || *overlap > 0.9) {
      throw InputError(
          fmt::format(
              "the tiles are '{}' and must be SIZE or SIZE,OVERLAP: {} to {} pixels, and a fraction from 0 to 0.9",
              text, smallest_tile, largest_tile),
          where, "For example 640,0.2; or the section data.tiles, \"{size: 640, merge: nms}\".");
    }
    options.size = static_cast<int>(*size);
    options.overlap = static_cast<float>(*overlap);
  }
  if (options) return options;
  throw InputError("the tiles have no size", where, "Say their side in pixels, for example 640.");
}

std::string to_text(const TileOptions& options) {
  return fmt::format(
      "{{size: {}, overlap: {:g}, min_visible: {:g}, empty: {:g}, whole: {}, merge: {}, match: {}, threshold: {:g}}}",
      options.size, options.overlap, options.min_visible, options.empty, options.whole,
      enum_name(options.merge), enum_name(options.match), options.threshold);
}

std::vector<ImageTile> tiles_of(int width, int height, const TileOptions& options) {
  BRIGHTNET_CHECK(width > 0 && height > 0 && options.size > 0, "a picture or a tile without pixels");
  std::vector<ImageTile> tiles;
  for (const int y : starts(height, options.size, options.overlap)) {
    for (const int x : starts(width, options.size, options.overlap)) {
      tiles.push_back({x, y, std::min(options.size, width), std::min(options.size, height), width, height});
    }
  }
  if (options.whole && tiles.size() > 1) tiles.push_back({0, 0, width, height, width, height});
  return tiles;
}

std::vector<Annotation> annotations_in(const ImageTile& tile, const std::vector<Annotation>& annotations,
                                       float min_visible) {
  const float left = tile.x, top = tile.y;
  const float width = tile.width, height = tile.height;
  std::vector<Annotation> kept;
  for (const Annotation& object : annotations) {
    Annotation cut = object;
    cut.x1 = std::max(object.x1 - left, 0.0f);
    cut.y1 = std::max(object.y1 - top, 0.0f);
    cut.x2 = std::min(object.x2 - left, width);
    cut.y2 = std::min(object.y2 - top, height);
    if (cut.x2 <= cut.x1 || cut.y2 <= cut.y1) continue;
    const float before = (object.x2 - object.x1) * (object.y2 - object.y1);
    const float share = (cut.x2 - cut.x1) * (cut.y2 - cut.y1) / before;
    if (share < min_visible) continue;
    cut.area = object.area * share;
    kept.push_back(cut);
  }
  return kept;
}

ImageRecord cut_out(const ImageRecord& picture, const ImageTile& tile, float min_visible) {
  if (tile.whole()) return picture;
  BRIGHTNET_CHECK(!picture.tile, "a tile of a tile");
  ImageRecord record;
  record.file = picture.file;
  record.id = picture.id;
  record.listed = picture.listed;
  record.width = tile.width;
  record.height = tile.height;
  record.tile = tile;
  record.annotations = annotations_in(tile, picture.annotations, min_visible);
  return record;
}

Dataset cut_into_tiles(const Dataset& pictures, const TileOptions& options) {
  Dataset cut;
  cut.classes = pictures.classes;
  cut.problems = pictures.problems;
  for (size_t i = 0; i < pictures.images.size(); ++i) {
    const ImageRecord& picture = pictures.images[i];
    const auto tiles = tiles_of(picture.width, picture.height, options);
    const size_t before = cut.images.size();
    Random random(0, Purpose::tiles, 0, i);
    for (const ImageTile& tile : tiles) {
      ImageRecord record = cut_out(picture, tile, options.min_visible);
      // A number is drawn for every tile, so that a box more or less in one does not change the choice of others.
      const bool lucky = random.chance(options.empty);
      if (lucky || shows_object(record)) cut.images.push_back(std::move(record));
    }
    if (cut.images.size() == before)
      cut.images.push_back(cut_out(picture, tiles.front(), options.min_visible));
  }
  return cut;
}

}  // namespace brightnet
