#include "data/loader/image_cache.h"

#include <fstream>
#include <thread>

#include "data/image/read_image.h"
#include "tests/data/drawn_dataset.h"
#include "tests/data/encoded_jpeg.h"

namespace brightnet {
namespace {

constexpr uint64_t plenty = 1 << 30;
const cv::Rect2d whole(0, 0, 1, 1);

TEST(ImageCache, DecodesEachImageOnceWhenThereIsRoom) {
  const Dataset dataset = draw_dataset(test_folder(), 5);
  ImageCache cache(dataset, plenty, {});
  uint64_t bytes = 0;
  for (const ImageRecord& record : dataset.images)
    bytes += 3 * static_cast<uint64_t>(record.width * record.height);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(cache.get(i, whole).pixels.empty());
  }
  EXPECT_EQ(cache.misses(), 5u);
  EXPECT_EQ(cache.hits(), 10u);
  EXPECT_EQ(cache.bytes(), bytes);
}

TEST(ImageCache, ADeviceDecodesEachFileThatTheCpuHasReadWhole) {
  const Dataset dataset = draw_dataset(test_folder(), 2, ".jpg");
  testing::TakenForDevice decoder;
  ImageCache cache(dataset, 0, {}, 3, &decoder);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 2; ++i) EXPECT_FALSE(cache.get(i, whole).pixels.empty());
  }
  EXPECT_EQ(decoder.asked, 4);
  const auto& file = dataset.images[1].file;
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 50);
  std::ofstream(file, std::ios::app) << "\xFF\xD9";
  ImageCache other(dataset, 0, {}, 3, &decoder);
  other.get(0, whole);
  EXPECT_THROW(other.get(1, whole), ImageError);
  EXPECT_EQ(decoder.asked, 5);
}

TEST(ImageCache, GreyTakesAThirdOfTheBytes) {
  const Dataset dataset = draw_dataset(test_folder(), 3, ".jpg");
  ImageCache colored(dataset, plenty, {}), grey(dataset, plenty, {}, 1);
  uint64_t pixels = 0;
  for (int i = 0; i < 3; ++i) {
    const ImageWindow window = grey.get(i, whole);
    EXPECT_EQ(window.pixels.type(), CV_8UC1);
    pixels += window.pixels.total();
    colored.get(i, whole);
  }
  EXPECT_EQ(grey.bytes(), pixels);
  EXPECT_EQ(colored.bytes(), 3 * pixels);
  // Room for all three in grey is room for one in colour.
  ImageCache enough(dataset, pixels, {}, 1);
  for (int i = 0; i < 6; ++i) enough.get(i % 3, whole);
  EXPECT_EQ(enough.hits(), 3u);
}

TEST(ImageCache, KeepsWhatFitsAndNeverExceedsItsLimit) {
  const Dataset dataset = draw_dataset(test_folder(), 8);
  constexpr uint64_t limit = 100000;  // about three of them
  ImageCache cache(dataset, limit, {});
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(cache.get(i, whole).size, cv::Size(dataset.images[static_cast<size_t>(i)].width,
                                                   dataset.images[static_cast<size_t>(i)].height));
      EXPECT_LE(cache.bytes(), limit);
    }
  }
  EXPECT_GT(cache.hits(), 5u);
  EXPECT_GT(cache.misses(), 15u);
}

TEST(ImageCache, KeepsNothingWithoutRoom) {
  const Dataset dataset = draw_dataset(test_folder(), 2);
  ImageCache cache(dataset, 0, {});
  for (int i = 0; i < 4; ++i) cache.get(i % 2, whole);
  EXPECT_EQ(cache.hits(), 0u);
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(ImageCache, KeepsLargeJpegsAtTheSizeThatIsNeeded) {
  const auto folder = test_folder();
  Dataset dataset;
  dataset.images.push_back({folder / "large.jpg", 0, 802, 600, {}});
  cv::imwrite((folder / "large.jpg").string(), cv::Mat(600, 802, CV_8UC3, cv::Scalar(1, 2, 3)));
  ImageCache cache(dataset, plenty, {150, 150});
  EXPECT_EQ(cache.get(0, whole).size, cv::Size(201, 150));
  EXPECT_EQ(cache.reduction(0), 4);
  EXPECT_EQ(cache.bytes(), 3u * 201 * 150);
}

// The first reader of an image that does not fit gets a window of it, of one that fits the whole.
TEST(ImageCache, AsksOnlyForAWindowOfWhatItCannotKeep) {
  const Dataset dataset = draw_dataset(test_folder(), 1, ".jpg");
  ImageCache none(dataset, 0, {}), room(dataset, plenty, {});
  const ImageWindow part = none.get(0, {0.25, 0.25, 0.25, 0.5});
  EXPECT_LT(part.pixels.cols, part.size.width / 2);
  EXPECT_LT(part.pixels.rows, part.size.height * 2 / 3);
  const ImageWindow all = room.get(0, {0.25, 0.25, 0.25, 0.5});
  EXPECT_EQ(all.pixels.size(), all.size);
  EXPECT_EQ(cv::norm(all.pixels(cv::Rect(part.corner, part.pixels.size())), part.pixels, cv::NORM_INF), 0);
}

TEST(ImageCache, ServesManyThreadsAtOnce) {
  const Dataset dataset = draw_dataset(test_folder(), 6);
  ImageCache cache(dataset, 110000, {}), alone(dataset, plenty, {});
  std::vector<cv::Mat> expected;
  for (int i = 0; i < 6; ++i) expected.push_back(alone.get(i, whole).pixels);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 30; ++i) {
        const int index = (i * (t + 1)) % 6;
        wrong +=
            cv::norm(cache.get(index, whole).pixels, expected[static_cast<size_t>(index)], cv::NORM_INF) != 0;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(cache.bytes(), 110000u);
  EXPECT_EQ(cache.hits() + cache.misses(), 120u);
}

}  // namespace
}  // namespace brightnet
