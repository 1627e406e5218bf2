#include "data/loader/rect_batches.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/random.h"
#include "data/image/placement.h"

namespace brightnet {
namespace {

TEST(RectBatches, AnImageGetsTheLeastInputAtItsScale) {
  EXPECT_EQ(least_input(1920, 1080, 416, 32), InputSize(256, 416)) << "of 234 rows";
  EXPECT_EQ(least_input(1080, 1920, 416, 32), InputSize(416, 256));
  EXPECT_EQ(least_input(500, 500, 416, 32), InputSize(416));
  EXPECT_EQ(least_input(1242, 375, 416, 32), InputSize(128, 416)) << "126 rows";
  EXPECT_EQ(least_input(4000, 1, 416, 32), InputSize(32, 416));
  EXPECT_EQ(least_input(640, 480, {384, 1248}, 32), InputSize(384, 512));
  EXPECT_EQ(least_input(1920, 1080, 416, 64), InputSize(256, 384 + 32))
      << "never larger than the whole input";
}

// In any batch, an image has the scale that it has in the whole input: its objects are as large as without --rect.
TEST(RectBatches, KeepScalesAndOrderTheRatios) {
  Dataset dataset;
  Random random(3, Purpose::test);
  for (int i = 0; i < 101; ++i) {
    ImageRecord record;
    record.width = 50 + static_cast<int>(random.below(1900));
    record.height = 50 + static_cast<int>(random.below(1900));
    dataset.images.push_back(record);
  }
  std::vector<int> order;
  for (int i = 100; i >= 0; --i) order.push_back(i);
  for (const InputSize& size : {InputSize(416), InputSize(192, 640), InputSize(640, 192)}) {
    const RectBatches batches = rect_batches(dataset, order, 8, size, 32);
    ASSERT_EQ(batches.order.size(), 101u);
    ASSERT_EQ(batches.sizes.size(), 13u);
    int64_t pixels = 0;
    double before = 0;
    for (size_t i = 0; i < batches.order.size(); ++i) {
      const ImageRecord& image = dataset.images[static_cast<size_t>(batches.order[i])];
      const double ratio = static_cast<double>(image.width) / image.height;
      EXPECT_GE(ratio, before);
      before = ratio;
      const InputSize& of_batch = batches.sizes[i / 8];
      EXPECT_TRUE(of_batch.multiple_of(32));
      EXPECT_LE(of_batch.height, size.height);
      EXPECT_LE(of_batch.width, size.width);
      const Placement whole = place(image.width, image.height, size, true),
                      part = place(image.width, image.height, of_batch, true);
      EXPECT_EQ(part.scale_x, whole.scale_x)
          << image.width << 'x' << image.height << " in " << of_batch.text();
      EXPECT_EQ(part.scale_y, whole.scale_y)
          << image.width << 'x' << image.height << " in " << of_batch.text();
      pixels += of_batch.pixels();
    }
    EXPECT_LT(static_cast<double>(pixels), 0.9 * static_cast<double>(101 * size.pixels())) << size.text();
  }
}

}  // namespace
}  // namespace brightnet
