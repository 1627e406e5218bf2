#include "data/tiles/tiles.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "core/error.h"

namespace brightnet {
namespace {

TileOptions tiles_of_size(int size, float overlap, bool whole = false) {
  TileOptions options;
  options.size = size;
  options.overlap = overlap;
  options.whole = whole;
  return options;
}

TEST(Tiles, CoverThePictureAndOverlapByAtLeastAsMuch) {
  for (const auto& [width, height] : {std::pair{4000, 3000}, {1000, 640}, {641, 1281}, {777, 3333}}) {
    const auto tiles = tiles_of(width, height, tiles_of_size(640, 0.2f));
    std::vector<int> across(static_cast<size_t>(width), 0);
    for (size_t i = 0; i < tiles.size(); ++i) {
      const ImageTile& tile = tiles[i];
      EXPECT_TRUE(tile.x >= 0 && tile.y >= 0 && tile.x + tile.width <= width &&
                  tile.y + tile.height <= height);
      EXPECT_EQ(tile.picture_width, width);
      EXPECT_EQ(tile.width, std::min(width, 640));
      if (tile.y > 0) continue;
      for (int x = tile.x; x < tile.x + tile.width; ++x) ++across[static_cast<size_t>(x)];
      if (i > 0) {
        EXPECT_LE(tile.x - tiles[i - 1].x, 640 - 128);
      }
    }
    EXPECT_EQ(std::count(across.begin(), across.end(), 0), 0) << width;
  }
  EXPECT_EQ(tiles_of(4000, 3000, tiles_of_size(640, 0.2f)).size(), 8u * 6u);
  EXPECT_EQ(tiles_of(640, 640, tiles_of_size(320, 0)).size(), 4u) << "no more than are needed";
}

TEST(Tiles, APixelMoreThanATileIsTwoTiles) {
  for (const int side : {640, 1280, 4096}) {
    const auto tiles = tiles_of(side + 1, side, tiles_of_size(side, 0.2f));
    ASSERT_EQ(tiles.size(), 2u) << side;
    EXPECT_EQ(tiles[0].x, 0);
    EXPECT_EQ(tiles[1].x, 1);
  }
}

TEST(Tiles, EndWithTheWholePictureUnlessItIsTheOnlyOne) {
  const auto tiles = tiles_of(1000, 500, tiles_of_size(500, 0, true));
  ASSERT_EQ(tiles.size(), 3u);
  EXPECT_EQ(tiles[2], (ImageTile{0, 0, 1000, 500, 1000, 500}));
  EXPECT_TRUE(tiles[2].whole());
  const auto one = tiles_of(300, 200, tiles_of_size(500, 0.2f, true));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_TRUE(one[0].whole());
}

TEST(Tiles, CutBoxesAtTheirEdgesAndKeepThemByTheShareThatIsLeft) {
  const ImageTile tile{100, 200, 50, 40, 1000, 1000};
  const auto box = [](float x1, float y1, float x2, float y2) {
    Annotation a;
    a.x1 = x1, a.y1 = y1, a.x2 = x2, a.y2 = y2, a.area = 0.5f * (x2 - x1) * (y2 - y1);
    return a;
  };
  const std::vector<Annotation> all{box(110, 210, 120, 220), box(90, 210, 110, 220), box(92, 210, 102, 220),
                                    box(0, 0, 50, 50), box(140, 230, 160, 250)};
  const auto kept = annotations_in(tile, all, 0.3f);
  ASSERT_EQ(kept.size(), 2u)
      << "a fifth and a quarter of the third and fifth are left, nothing of the fourth";
  EXPECT_EQ(kept[0].x1, 10);
  EXPECT_EQ(kept[0].y2, 20);
  EXPECT_EQ(kept[0].area, 50);
  EXPECT_EQ(kept[1].x1, 0);
  EXPECT_EQ(kept[1].x2, 10);
  EXPECT_EQ(kept[1].area, 50) << "half of it";
  EXPECT_EQ(annotations_in(tile, all, 0.2f).size(), 4u);
}

Dataset pictures(int count) {
  Dataset dataset;
  dataset.classes = {"dot"};
  for (int i = 0; i < count; ++i) {
    ImageRecord& record = dataset.images.emplace_back();
    record.file = std::to_string(i) + ".png";
    record.id = i;
    record.width = 1000;
    record.height = 1000;
    Annotation a;
    a.x1 = 10, a.y1 = 10, a.x2 = 30, a.y2 = 30, a.area = 400;
    record.annotations = {a};
  }
  return dataset;
}

TEST(Tiles, MakeADataSetOfWhichEmptyOnesMayBeLeftOut) {
  TileOptions options = tiles_of_size(100, 0);
  EXPECT_EQ(cut_into_tiles(pictures(3), options).images.size(), 300u);
  options.empty = 0;
  const Dataset full = cut_into_tiles(pictures(3), options);
  ASSERT_EQ(full.images.size(), 3u);
  for (const ImageRecord& tile : full.images) EXPECT_EQ(tile.annotations.size(), 1u);
  options.empty = 0.25f;
  const Dataset some = cut_into_tiles(pictures(8), options);
  EXPECT_NEAR(static_cast<double>(some.images.size()), 8 + 0.25 * 8 * 99, 30);
  const Dataset first = cut_into_tiles(pictures(2), options);
  for (size_t i = 0; i < first.images.size(); ++i) EXPECT_EQ(first.images[i].tile, some.images[i].tile);
  Dataset none = pictures(1);
  none.images[0].annotations.clear();
  options.empty = 0;
  EXPECT_EQ(cut_into_tiles(none, options).images.size(), 1u) << "no picture is left out";
}

TEST(Tiles, AreReadAsSizeAndOverlapOrAsASection) {
  EXPECT_EQ(parse_tiles("640", "--tiles"), tiles_of_size(640, 0.2f, true));
  EXPECT_EQ(parse_tiles("640,0.35", "--tiles"), tiles_of_size(640, 0.35f, true));
  TileOptions section = tiles_of_size(320, 0.1f, false);
  section.merge = TileMerge::nms;
  section.match = TileMatch::iou;
  const std::string text = "{size: 320, overlap: 0.1, whole: false, merge: nms, match: iou}";
  EXPECT_EQ(parse_tiles(text, "--tiles"), section);
  EXPECT_EQ(parse_tiles(to_text(section), "--tiles"), section);
  EXPECT_EQ(parse_tiles("640", "--tiles", section).merge, TileMerge::nms);
  for (const char* limit : {"{size: 32, overlap: 0.9, threshold: 0.01}", "{size: 65536, threshold: 1}"})
    EXPECT_NO_THROW(parse_tiles(limit, "--tiles")) << limit;
  for (const char* wrong : {"", "0", "31", "{size: 31}", "6.5", "640,1", "640,-0.1", "large", "640,",
                            "{overlap: 0.1}", "{sise: 640}"})
    EXPECT_THROW(parse_tiles(wrong, "--tiles"), InputError) << wrong;
}

TEST(Tiles, WithACrowdAloneCountAsEmpty) {
  Dataset dataset = pictures(1);
  Annotation crowd = dataset.images[0].annotations[0];
  crowd.x1 = crowd.y1 = 510, crowd.x2 = crowd.y2 = 530;
  crowd.crowd = true;
  dataset.images[0].annotations.push_back(crowd);
  TileOptions options = tiles_of_size(100, 0);
  options.empty = 0;
  EXPECT_EQ(cut_into_tiles(dataset, options).images.size(), 1u);
  dataset.images[0].annotations[1].crowd = false;
  EXPECT_EQ(cut_into_tiles(dataset, options).images.size(), 2u);
}

TEST(Tiles, OfADataSetHaveTheObjectsOfWhichEnoughIsLeft) {
  Dataset dataset = pictures(1);
  Annotation& object = dataset.images[0].annotations[0];
  object.x1 = 85, object.x2 = 105;  // a quarter of it in the second tile
  TileOptions options = tiles_of_size(100, 0);
  options.empty = 0;
  for (const auto& [least, tiles] : {std::pair(0.2f, 2u), {0.3f, 1u}}) {
    options.min_visible = least;
    EXPECT_EQ(cut_into_tiles(dataset, options).images.size(), tiles) << least;
  }
}

}  // namespace
}  // namespace brightnet
