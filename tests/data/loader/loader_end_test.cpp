// How a run ends, as the loader sees it: its plain last part, its growing input, and an end that moves.
#include <algorithm>
#include <set>

#include "tests/data/loader/taken_batches.h"

namespace brightnet::testing {
namespace {

TEST(Loader, LastPartIsWithoutMosaicAndMixup) {
  const auto folder = test_folder();
  const Dataset dataset = grey_dataset(folder, 8);
  Loader::Setup setup = plain_setup(dataset);
  setup.augment.mosaic = 1;
  setup.augment.mosaic_off = 0.7f;
  setup.epochs = 10;
  setup.batch = 8;
  for (const float mixup : {0.0f, 1.0f}) {
    setup.augment.mixup = mixup;
    const auto batches = take_all(setup);
    ASSERT_EQ(batches.size(), 10u);
    for (const auto& batch : batches) {
      const size_t bytes = batch.pixels.size() / 8;
      int flat = 0;
      std::set<int> values;
      for (size_t i = 0; i < 8; ++i) {
        const auto first = batch.pixels.begin() + static_cast<ptrdiff_t>(i * bytes);
        values.insert(*first);
        flat +=
            std::all_of(first, first + static_cast<ptrdiff_t>(bytes), [&](uint8_t p) { return p == *first; });
      }
      if (batch.epoch < 3) {
        EXPECT_LE(flat, 1) << "epoch " << batch.epoch << ": four images are the same one once in 512 times";
      } else {
        EXPECT_EQ(flat, 8) << batch.epoch;
        EXPECT_EQ(values, (std::set<int>{10, 20, 30, 40, 50, 60, 70, 80}))
            << "a mixup in epoch " << batch.epoch;
      }
    }
  }
}

// Mosaics have more than one colour; the images have not.
std::string mosaics(const std::vector<Taken>& batches) {
  std::string text;
  for (const Taken& batch : batches) {
    const auto [least, most] = std::minmax_element(batch.pixels.begin(), batch.pixels.end());
    text += *least == *most ? '-' : 'm';
  }
  return text;
}

TEST(Loader, LastPartOfAShortRunIsCountedInBatches) {
  const Dataset dataset = grey_dataset(test_folder(), 10);
  Loader::Setup setup = plain_setup(dataset);
  setup.augment.mosaic = 1;
  setup.augment.mosaic_off = 0.3f;
  setup.seed = 5;  // none of these mosaics consists of one image four times
  EXPECT_EQ(mosaics(take_all(setup)), "mmmmmmm---");
  setup.end = RunEnd{12, 2};
  setup.epochs = 100;
  EXPECT_EQ(mosaics(take_all(setup)), "mm----------");
}

TEST(Loader, HasTheBatchesOfItsNewEnd) {
  const Dataset dataset = draw_dataset(test_folder(), 10);
  Loader::Setup setup = busy_setup(dataset);
  setup.augment.mosaic = setup.augment.mixup = 1;
  const auto with_end = [&](uint64_t batches, uint64_t plain_from) {
    setup.end = RunEnd{batches, plain_from};
    return take_all(setup);
  };
  const auto never = with_end(20, 20), always = with_end(20, 0);
  ASSERT_FALSE(never[5] == always[5]);
  // Later, earlier, at once, and back where it began, which is too late for the batches before.
  const std::map<size_t, RunEnd> ends{{2, {16, 14}}, {4, {11, 9}}, {6, {9, 6}}, {7, {13, 6}}};
  for (const int workers : {0, 1, 4}) {
    for (const int prefetch : {1, 6}) {
      setup.loader.workers = workers;
      setup.loader.prefetch = prefetch;
      setup.end = RunEnd{12, 3};
      const auto taken = take_all(setup, ends);
      ASSERT_EQ(taken.size(), 13u) << workers << " workers";
      for (size_t i = 0; i < taken.size(); ++i)
        EXPECT_TRUE(taken[i] == (i < 6 ? never : always)[i]) << i << ", " << workers << " workers";
      // A resumed run has the rest.
      Loader::Setup rest = setup;
      rest.end = RunEnd{13, 6};
      rest.start_epoch = 1;
      rest.start_step = 3;
      const auto resumed = take_all(rest);
      ASSERT_EQ(resumed.size(), 6u);
      for (size_t i = 0; i < 6; ++i) EXPECT_TRUE(resumed[i] == taken[7 + i]) << i;
    }
  }
}

TEST(Loader, GrowsThroughItsSizesAsItsEndSays) {
  const Dataset dataset = draw_dataset(test_folder(), 10);
  Loader::Setup setup = busy_setup(dataset);
  setup.sizes = {32, 48, 64};
  const auto sizes = [&](const std::vector<Taken>& taken) {
    std::vector<int> list;
    for (const Taken& batch : taken) list.push_back(batch.size);
    return list;
  };
  for (const int workers : {0, 1, 4}) {
    setup.loader.workers = workers;
    setup.loader.prefetch = 6;
    setup.end = RunEnd{8, 8, {2, 5}};
    EXPECT_EQ(sizes(take_all(setup)), (std::vector<int>{32, 32, 48, 48, 48, 64, 64, 64}));
    setup.end = RunEnd{8, 8, {0, 0}};
    EXPECT_EQ(sizes(take_all(setup)), std::vector<int>(8, 64));
    // Batches that were made ahead at the old size are made again.
    setup.end = RunEnd{8, 8, {6, 7}};
    const auto taken = take_all(setup, {{1, {8, 8, {2, 5}}}, {3, {8, 8, {2, 4}}}});
    EXPECT_EQ(sizes(taken), (std::vector<int>{32, 32, 48, 48, 64, 64, 64, 64})) << workers;
    setup.end = RunEnd{8, 8, {2, 4}};
    EXPECT_TRUE(taken == take_all(setup)) << "the same pixels as without the change";
  }
}

TEST(Loader, DecodesNothingAgainForANewEnd) {
  const Dataset dataset = grey_dataset(test_folder(), 4);
  Loader::Setup setup = plain_setup(dataset);
  setup.epochs = 100;
  setup.loader.cache_mb = 0.001f;  // in MiB: 1048 bytes, of which the four images take 768
  Loader loader(setup);
  for (int i = 0; i < 4; ++i) ASSERT_NE(loader.next(), nullptr);
  for (const ImageRecord& image : dataset.images) std::filesystem::remove(image.file);
  for (uint64_t i = 4; i < 50; ++i) {
    loader.set_end({100 + i, i % 2 == 0 ? 0u : 99u});
    ASSERT_NE(loader.next(), nullptr) << "all images are in the cache";
  }
}

TEST(LoaderOptions, ADeviceDecodesAsManyFilesAtOnceAsThereAreWorkersButAtMostEight) {
  LoaderOptions options;
  EXPECT_EQ(options.decoded_at_once(), 8) << "before the workers are chosen";
  EXPECT_EQ(options.threads(), 1);
  EXPECT_EQ(options.cache(), 1024);
  for (const auto& [workers, files] : {std::pair(0, 1), {1, 1}, {3, 3}, {8, 8}, {20, 8}}) {
    options.workers = workers;
    EXPECT_EQ(options.decoded_at_once(), files) << workers;
  }
}

}  // namespace
}  // namespace brightnet::testing
