#include "data/loader/benchmark.h"

#include "tests/data/drawn_dataset.h"

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
  for (const Rate& rate : {result.decode, result.cached, result.uncached}) {
    EXPECT_GT(rate.per_second, 0);
    EXPECT_GT(rate.per_cpu_second, 0);
  }
}

TEST(LoaderBenchmark, NamesAFileThatIsMissing) {
  const Dataset dataset = draw_dataset(test_folder(), 2);
  std::filesystem::remove(dataset.images[1].file);
  EXPECT_THROW(measure_loader(dataset, {}), InputError);
}

}  // namespace
}  // namespace brightnet
