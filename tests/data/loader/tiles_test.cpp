// Tiles of pictures as the loaders see them.
#include "data/tiles/tiles.h"

#include "data/image/read_image.h"
#include "data/loader/image_cache.h"
#include "tests/data/loader/taken_batches.h"
#include "tests/data/pictures.h"

namespace brightnet {
namespace {

using testing::take_all;
using testing::Taken;

constexpr uint64_t plenty_of_memory = 1 << 30;

/// Two pictures with grain, so that no two parts are alike.
Dataset grainy_pictures(const std::filesystem::path& folder, const std::string& extension) {
  Dataset dataset;
  dataset.classes = {"box"};
  for (int i = 0; i < 2; ++i) {
    ImageRecord& record = dataset.images.emplace_back();
    record.file = folder / (std::to_string(i) + extension);
    record.id = i;
    record.width = 301;
    record.height = 203;
    cv::imwrite(record.file.string(), picture(static_cast<uint64_t>(7 + i), 301, 203));
    for (const float x : {20.0f, 130.0f, 270.0f}) {
      Annotation a;
      a.x1 = x, a.y1 = x / 2, a.x2 = x + 24, a.y2 = x / 2 + 30, a.area = 24 * 30;
      record.annotations.push_back(a);
    }
  }
  return dataset;
}

TileOptions options_of(int size) {
  TileOptions options;
  options.size = size;
  return options;
}

TEST(LoadedTiles, HaveThePixelsOfTheirPlaceInThePicture) {
  for (const char* extension : {".png", ".jpg"}) {
    const auto folder = test_folder();
    const Dataset pictures = grainy_pictures(folder, extension);
    const Dataset tiles = cut_into_tiles(pictures, options_of(96));
    ASSERT_GT(tiles.images.size(), 20u);
    std::vector<cv::Mat> decoded;
    for (const ImageRecord& record : pictures.images) decoded.push_back(read_image(record.file));
    for (const uint64_t limit : {uint64_t{0}, plenty_of_memory}) {
      ImageCache cache(tiles, limit, {8, 8});
      for (size_t i = 0; i < tiles.images.size(); ++i) {
        const ImageRecord& record = tiles.images[i];
        if (!record.tile) continue;
        const cv::Mat& whole = decoded[static_cast<size_t>(record.id)];
        const cv::Rect part(record.tile.x, record.tile.y, record.tile.width, record.tile.height);
        for (const cv::Rect2d& needed : {cv::Rect2d(0, 0, 1, 1), cv::Rect2d(0.3, 0.5, 0.2, 0.7)}) {
          const ImageWindow window = cache.get(static_cast<int>(i), needed);
          EXPECT_EQ(window.size, part.size());
          EXPECT_LE(window.corner.x, static_cast<int>(needed.x * part.width));
          EXPECT_GE(window.corner.x + window.pixels.cols,
                    std::min(part.width, static_cast<int>((needed.x + needed.width) * part.width)));
          const cv::Mat expected = whole(cv::Rect(part.tl() + window.corner, window.pixels.size()));
          ASSERT_EQ(cv::norm(window.pixels, expected, cv::NORM_INF), 0) << extension << " tile " << i;
        }
      }
    }
  }
}

TEST(LoadedTiles, MakeTheSameBatchesForAnyNumberOfWorkers) {
  const Dataset tiles = cut_into_tiles(grainy_pictures(test_folder(), ".jpg"), options_of(96));
  Loader::Setup setup = testing::busy_setup(tiles);
  setup.loader.workers = 0;
  const auto expected = take_all(setup);
  ASSERT_FALSE(expected.empty());
  for (const int workers : {1, 4}) {
    setup.loader.workers = workers;
    for (const float cache : {0.0f, 64.0f}) {
      setup.loader.cache_mb = cache;
      EXPECT_EQ(take_all(setup), expected) << workers << " workers";
    }
  }
}

TEST(LoadedTiles, OfAPictureThatHasChangedAreRefused) {
  const Dataset dataset = grainy_pictures(test_folder(), ".png");
  const Dataset tiles = cut_into_tiles(dataset, options_of(96));
  cv::imwrite(dataset.images[0].file.string(), picture(3, 300, 203));
  ImageCache cache(tiles, 0, {});
  EXPECT_THROW(cache.get(0, {0, 0, 1, 1}), InputError);
}

// A large picture has many tiles, and loader.cache_mb counts what these take.
TEST(LoadedTiles, KeepTheirOwnPixelsAloneInTheCache) {
  const Dataset tiles = cut_into_tiles(grainy_pictures(test_folder(), ".png"), options_of(96));
  ImageCache cache(tiles, plenty_of_memory, {});
  int cut = 0;
  for (size_t i = 0; i < tiles.images.size(); ++i) {
    if (!tiles.images[i].tile) continue;
    ++cut;
    for (int round = 0; round < 2; ++round) {
      const cv::Mat pixels = cache.get(static_cast<int>(i), {0, 0, 1, 1}).pixels;
      if (round == 0) continue;  // the first is read
      ASSERT_TRUE(pixels.u);
      EXPECT_EQ(pixels.u->size, pixels.total() * pixels.elemSize()) << i;
    }
  }
  EXPECT_GT(cut, 20);
  EXPECT_EQ(cache.hits(), static_cast<uint64_t>(cut));
}

}  // namespace
}  // namespace brightnet
