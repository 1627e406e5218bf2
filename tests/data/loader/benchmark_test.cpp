#include "data/loader/benchmark.h"

#include "tests/data/drawn_dataset.h"
#include "tests/data/encoded_jpeg.h"

namespace brightnet {
namespace {

TEST(LoaderBenchmark, MeasuresEveryRateOverPartOfTheImages) {
  const Dataset dataset = draw_dataset(test_folder(), 9, ".jpg");
  LoaderBenchmarkOptions options;
  options.size = 64;
  options.batch = 4;
  options.seconds = 0.02;
  options.images = 6;
  const LoaderBenchmark result = measure_loader(dataset, options);
  EXPECT_EQ(result.images, 6);
  EXPECT_EQ(result.workers, 1);
  ASSERT_TRUE(result.pictures);
  for (const Rate& rate :
       {result.decode, result.cached, result.uncached, result.pictures->cached, result.pictures->uncached}) {
    EXPECT_GT(rate.per_second, 0);
    EXPECT_GT(rate.per_cpu_second, 0);
  }
  EXPECT_GT(result.pictures->bytes, 64 * 64) << "a part of an image at least";
  EXPECT_LT(result.pictures->bytes, 5 * 3 * 64 * 64);
  EXPECT_LT(result.pictures->painted, 0.5);
  EXPECT_FALSE(result.pictures->decoded);
  testing::TakenForDevice decoder;
  options.decoder = &decoder;
  EXPECT_GT(measure_loader(dataset, options).pictures->decoded.value().per_cpu_second, 0);
  EXPECT_GT(decoder.asked, 6);
  options.augment.noise = 0.5f;
  EXPECT_FALSE(measure_loader(dataset, options).pictures) << "no GPU adds noise";
}

TEST(LoaderBenchmark, NamesAFileThatIsMissing) {
  const Dataset dataset = draw_dataset(test_folder(), 2);
  std::filesystem::remove(dataset.images[1].file);
  EXPECT_THROW(measure_loader(dataset, {}), InputError);
}

TEST(LoaderBenchmark, TakesImagesOfTheWholeDataSet) {
  const Dataset dataset = draw_dataset(test_folder(), 9, ".jpg");
  for (const size_t other : {1, 2, 4, 5, 7, 8}) std::filesystem::remove(dataset.images[other].file);
  LoaderBenchmarkOptions options;
  options.size = 64;
  options.batch = 3;
  options.seconds = 0.002;
  options.images = 3;
  EXPECT_EQ(measure_loader(dataset, options).images, 3) << "0, 3 and 6, which are there";
}

// By CPU time, which other programs do not change. A batch costs little more than its images.
TEST(LoaderBenchmark, RatesAreThoseOfImagesWhateverTheBatch) {
  const Dataset dataset = draw_dataset(test_folder(), 4, ".jpg");
  const auto measured = [&](int batch) {
    LoaderBenchmarkOptions options;
    options.size = 64;
    options.batch = batch;
    options.seconds = 0.02;
    return measure_loader(dataset, options);
  };
  const LoaderBenchmark one = measured(1), many = measured(48);
  EXPECT_GT(8 * many.cached.per_cpu_second, one.cached.per_cpu_second);
  EXPECT_GT(8 * many.uncached.per_cpu_second, one.uncached.per_cpu_second);
}

}  // namespace
}  // namespace brightnet
