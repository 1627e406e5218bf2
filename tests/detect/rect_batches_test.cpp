#include "detect/rect_batches.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "core/random.h"
#include "data/image/placement.h"
#include "detect/input_loader.h"
#include "detect/sources/memory_source.h"

namespace brightnet {
namespace {

TEST(RectBatches, AnImageGetsTheLeastInputAtItsScale) {
  EXPECT_EQ(least_input(1920, 1080, 416, 32), InputSize(256, 416)) << "of 234 rows";
  EXPECT_EQ(least_input(1080, 1920, 416, 32), InputSize(416, 256));
  EXPECT_EQ(least_input(500, 500, 416, 32), InputSize(416));
  EXPECT_EQ(least_input(1242, 375, 416, 32), InputSize(128, 416)) << "126 rows";
  EXPECT_EQ(least_input(1183, 273, 416, 32), InputSize(96, 416)) << "96 rows, computed as a little more";
  EXPECT_EQ(least_input(4000, 1, 416, 32), InputSize(32, 416));
  EXPECT_EQ(least_input(640, 480, {384, 1248}, 32), InputSize(384, 512));
  EXPECT_EQ(least_input(1920, 1080, 416, 64), InputSize(256, 384 + 32))
      << "never larger than the whole input";
}

TEST(RectBatches, AreInTheOrderOfTheRatios) {
  Dataset dataset;
  for (const auto& [width, height] : {std::pair(200, 100), {100, 100}, {50, 100}, {4, 2}, {300, 300}}) {
    ImageRecord& record = dataset.images.emplace_back();
    record.width = width;
    record.height = height;
  }
  EXPECT_EQ(in_order_of_ratio(dataset, {4, 3, 2, 1, 0}), (std::vector<int>{2, 4, 1, 3, 0}));
  EXPECT_EQ(in_order_of_ratio(dataset, {0, 1, 3}), (std::vector<int>{1, 0, 3}));
}

// In any batch, an image has the scale that it has in the whole input: its objects are as large as without --rect.
TEST(RectBatches, KeepScalesAndLeaveOutPadding) {
  constexpr int most = 400;
  const std::vector<uint8_t> memory(3 * most * most);
  std::vector<PixelImage> images;
  Random random(3, Purpose::test);
  for (int i = 0; i < 101; ++i) {
    images.push_back({memory.data(), 50 + static_cast<int>(random.below(350)),
                      50 + static_cast<int>(random.below(350)), 3 * most});
  }
  std::stable_sort(images.begin(), images.end(), [](const PixelImage& a, const PixelImage& b) {
    return a.width * b.height < b.width * a.height;
  });
  for (const InputSize& size : {InputSize(416), InputSize(192, 640), InputSize(640, 192)}) {
    MemorySource source(images);
    InputLoader loader(source, {.batch = 8, .fit = {.size = size, .letterbox = true}, .rect_stride = 32});
    int64_t pixels = 0, seen = 0;
    while (const auto* batch = loader.next()) {
      const InputSize& of_batch = batch->fit.size;
      EXPECT_TRUE(of_batch.multiple_of(32));
      EXPECT_LE(of_batch.height, size.height);
      EXPECT_LE(of_batch.width, size.width);
      for (const auto& input : batch->inputs) {
        const cv::Size image = input.frame->image.size();
        const Placement whole = place(image.width, image.height, size, true),
                        part = place(image.width, image.height, of_batch, true);
        EXPECT_EQ(part.scale_x, whole.scale_x) << image << " in " << of_batch.text();
        EXPECT_EQ(part.scale_y, whole.scale_y) << image << " in " << of_batch.text();
        pixels += of_batch.pixels();
        ++seen;
      }
    }
    EXPECT_EQ(seen, 101);
    EXPECT_LT(static_cast<double>(pixels), 0.9 * static_cast<double>(101 * size.pixels())) << size.text();
  }
}

}  // namespace
}  // namespace brightnet
