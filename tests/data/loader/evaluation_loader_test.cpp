#include "data/loader/evaluation_loader.h"

#include <cmath>
#include <fstream>
#include <set>

#include "tests/data/loader/taken_batches.h"

namespace brightnet::testing {
namespace {

TEST(EvaluationLoader, SameInOrderForAnyNumberOfWorkers) {
  const Dataset dataset = draw_dataset(test_folder(), 11);
  const std::vector<int> order{3, 1, 4, 10, 5, 9, 2, 6, 8};
  std::vector<uint8_t> expected;
  for (const int workers : {0, 1, 8}) {
    EvaluationLoader loader(dataset, order, 4, {.size = 64}, workers);
    std::vector<uint8_t> pixels;
    std::vector<int> indices, counts;
    while (const auto* images = loader.next()) {
      counts.push_back(images->count);
      indices.insert(indices.end(), images->indices.begin(), images->indices.end());
      pixels.insert(pixels.end(), images->pixels, images->pixels + images->count * 64 * 64 * 3);
    }
    EXPECT_EQ(indices, order);
    EXPECT_EQ(counts, (std::vector<int>{4, 4, 1}));
    if (expected.empty()) expected = pixels;
    EXPECT_TRUE(pixels == expected) << workers;
  }
}

TEST(EvaluationLoader, EachIndexComesWithItsOwnPixels) {
  const Dataset dataset = grey_dataset(test_folder(), 9);
  const std::vector<int> order{3, 1, 4, 0, 5, 8, 2, 6, 7};
  for (const int workers : {0, 3}) {
    EvaluationLoader loader(dataset, order, 4, {.size = 32}, workers);
    size_t seen = 0;
    while (const auto* images = loader.next()) {
      for (int i = 0; i < images->count; ++i, ++seen) {
        const uint8_t* first = images->pixels + static_cast<size_t>(i) * 32 * 32 * 3;
        EXPECT_EQ(first[0], 10 * (1 + images->indices[static_cast<size_t>(i)]));
        EXPECT_TRUE(
            std::all_of(first, first + 32 * 32 * 3, [&](uint8_t value) { return value == first[0]; }));
      }
    }
    EXPECT_EQ(seen, order.size());
  }
}

// A white box on black, found again in the input where arithmetic by hand and place() say.
TEST(EvaluationLoader, PlaceMapsExactlyBackToTheImage) {
  const auto folder = test_folder();
  const cv::Rect box(48, 40, 96, 60);
  const struct {
    cv::Size size;
    cv::Rect letterboxed;  // what the image covers of 256 × 256
  } cases[] = {{{320, 200}, {0, 48, 256, 160}},
               {{150, 211}, {37, 0, 182, 256}},  // 181.99 columns
               {{240, 240}, {0, 0, 256, 256}},
               {{999, 333}, {0, 85, 256, 85}}};  // 85.33 rows
  for (const auto& [size, letterboxed] : cases) {
    for (const bool letterbox : {false, true}) {
      const cv::Rect shown = letterbox ? letterboxed : cv::Rect(0, 0, 256, 256);
      cv::Mat image(size, CV_8UC3, cv::Scalar::all(0));
      image(box) = cv::Scalar::all(255);
      Dataset dataset;
      dataset.images.push_back({folder / "image.png", 0, size.width, size.height, {}});
      cv::imwrite(dataset.images[0].file.string(), image);
      EvaluationLoader loader(dataset, {0}, 1, {.size = 256, .letterbox = letterbox}, 1);
      const auto* images = loader.next();
      ASSERT_NE(images, nullptr);
      const Placement placement = place(size.width, size.height, 256, letterbox);
      const double scale_x = static_cast<double>(shown.width) / size.width;
      const double scale_y = static_cast<double>(shown.height) / size.height;
      EXPECT_FLOAT_EQ(placement.scale_x, static_cast<float>(scale_x)) << size << letterbox;
      EXPECT_FLOAT_EQ(placement.scale_y, static_cast<float>(scale_y)) << size << letterbox;
      EXPECT_EQ(placement.offset_x, static_cast<float>(shown.x)) << size << letterbox;
      EXPECT_EQ(placement.offset_y, static_cast<float>(shown.y)) << size << letterbox;
      // The sums of coverage along a row and a column are the box's sides; their first moments its centre.
      double sum = 0, sum_x = 0, sum_y = 0;
      for (int y = 0; y < 256; ++y) {
        for (int x = 0; x < 256; ++x) {
          const uint8_t* pixel = images->pixels + 3 * (y * 256 + x);
          const double image_x = (x + 0.5 - shown.x) / scale_x, image_y = (y + 0.5 - shown.y) / scale_y;
          if (!shown.contains({x, y})) {
            for (int c = 0; c < 3; ++c) ASSERT_EQ(pixel[c], 114) << x << ' ' << y;
            continue;
          }
          for (int c = 1; c < 3; ++c) ASSERT_EQ(pixel[c], pixel[0]) << x << ' ' << y;
          sum += pixel[0] / 255.0;
          sum_x += pixel[0] / 255.0 * image_x;
          sum_y += pixel[0] / 255.0 * image_y;
        }
      }
      EXPECT_NEAR(sum_x / sum, box.x + box.width / 2.0, 0.1) << size << letterbox;
      EXPECT_NEAR(sum_y / sum, box.y + box.height / 2.0, 0.1) << size << letterbox;
      EXPECT_NEAR(sum / scale_x / scale_y / box.area(), 1, 0.01) << size << letterbox;
    }
  }
}

TEST(EvaluationLoader, CarriesAWorkersError) {
  Dataset dataset = draw_dataset(test_folder(), 4);
  std::filesystem::remove(dataset.images[2].file);
  EvaluationLoader loader(dataset, {0, 1, 2, 3}, 2, {.size = 64, .letterbox = true}, 2);
  EXPECT_NE(loader.next(), nullptr);
  EXPECT_THROW(loader.next(), InputError);
}

}  // namespace
}  // namespace brightnet::testing
