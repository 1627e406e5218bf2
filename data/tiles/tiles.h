// Cutting large pictures into tiles: a 20-pixel object in a 4000-pixel-wide image shrinks to 2 pixels at input size
// 416; in a tile it keeps all 20 (Akyon et al. 2022, "Slicing Aided Hyper Inference and Fine-Tuning for Small Object
// Detection"). Nothing is written: a tile is an ImageRecord that knows its place in its picture's file (ImageTile), so
// whatever loads images loads tiles.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/config.h"
#include "data/dataset.h"

namespace brightnet {

/// What is done with several boxes of one object from neighbouring tiles (detect/merge_tiles.h).
enum class TileMerge : uint8_t {
  nmm,  ///< non-maximum merging: one box around all of them, with the best score
  nms,  ///< non-maximum suppression: the box with the best score
};
constexpr std::string_view enum_name(TileMerge merge) {
  switch (merge) {
    case TileMerge::nmm: return "nmm";
    case TileMerge::nms: return "nms";
  }
  return {};
}

/// The measure by which two boxes of a class count as one object.
enum class TileMatch : uint8_t {
  ios,  ///< intersection over the smaller area: a part that an edge has cut off lies in the whole
  iou,  ///< intersection over union
};
constexpr std::string_view enum_name(TileMatch match) {
  switch (match) {
    case TileMatch::ios: return "ios";
    case TileMatch::iou: return "iou";
  }
  return {};
}

/// The `data.tiles:` section, and the value of `--tiles`.
struct TileOptions {
  int size = 0;              ///< side of a tile, in pixels of the picture; 0: pictures are not cut
  float overlap = 0.2f;      ///< overlap of neighbouring tiles, as a fraction of their side
  float min_visible = 0.2f;  ///< training: a tile leaves a box out if it has less than this share of its area
  float empty = 1.0f;        ///< training: the share of the tiles without an object that is trained on
  bool whole = true;         ///< use the whole picture as well, for objects larger than a tile
  TileMerge merge = TileMerge::nmm;
  TileMatch match = TileMatch::ios;
  float threshold = 0.5f;  ///< boxes that match by at least this much are merged
  void fields(Fields& f);

  explicit operator bool() const { return size > 0; }
  bool operator==(const TileOptions&) const = default;
};

/// Parses what stands after --tiles: "640", "640,0.3" (size and overlap) or the section, "{size: 640, merge: nms}". The
/// options that are not given are those of `otherwise`. Throws InputError, which names `where`.
TileOptions parse_tiles(const std::string& text, const std::string& where, const TileOptions& otherwise = {});

/// The options as text that parse_tiles() reads, with every value.
std::string to_text(const TileOptions& options);

/// The tiles of a width × height picture, row by row: the fewest that overlap by `overlap` at least, evenly spaced from
/// border to border, in whole pixels. A picture that is smaller than a tile, on either side, has one as small on that
/// side. With `whole` the picture itself is the last, unless it is the only tile anyway.
std::vector<ImageTile> tiles_of(int width, int height, const TileOptions& options);

/// The annotations of a picture that a tile shows, in the tile's pixels: cut at its edges, and left out with less than
/// min_visible of their area in it. COCO's areas shrink with their boxes.
std::vector<Annotation> annotations_in(const ImageTile& tile, const std::vector<Annotation>& annotations,
                                       float min_visible);

/// One tile of a picture as an image of its own. The whole picture stays as it is.
ImageRecord cut_out(const ImageRecord& picture, const ImageTile& tile, float min_visible);

/// A data set to train on: every picture as its tiles, in order. Of tiles without an object the share `empty` is
/// kept; which of them depends on their picture's place in the data set and on nothing else. Pictures are never
/// left out altogether.
Dataset cut_into_tiles(const Dataset& pictures, const TileOptions& options);

}  // namespace brightnet
