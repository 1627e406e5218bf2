#include "data/loader/loader.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "data/loader/evaluation_loader.h"
#include "tests/data/drawn_dataset.h"

namespace brightnet {
namespace {

// A copy of a batch that outlives the loader's.
struct Taken {
  std::vector<uint8_t> pixels;
  std::vector<std::vector<Truth>> truths;
  int size = 0, real = 0;
  uint64_t epoch = 0, step = 0;

  bool operator==(const Taken& other) const {
    if (pixels != other.pixels || size != other.size || real != other.real) return false;
    if (epoch != other.epoch || step != other.step || truths.size() != other.truths.size()) return false;
    for (size_t i = 0; i < truths.size(); ++i) {
      if (truths[i].size() != other.truths[i].size()) return false;
      for (size_t j = 0; j < truths[i].size(); ++j) {
        const Truth &a = truths[i][j], &b = other.truths[i][j];
        if (a.class_id != b.class_id || std::memcmp(&a.box, &b.box, sizeof a.box) != 0) return false;
      }
    }
    return true;
  }
};

/// The batches that are left; before some of them, the end is moved.
std::vector<Taken> take_all(const Loader::Setup& setup, const std::map<size_t, RunEnd>& ends = {}) {
  Loader loader(setup);
  std::vector<Taken> taken;
  for (;;) {
    if (const auto end = ends.find(taken.size()); end != ends.end()) {
      // Workers prepare batches for the end of before.
      if (setup.loader.workers > 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      loader.set_end(end->second);
    }
    const Batch* batch = loader.next();
    if (!batch) break;
    Taken copy;
    copy.pixels.assign(batch->pixels, batch->pixels + 3 * batch->count * batch->height * batch->width);
    copy.truths = batch->truths;
    copy.size = batch->width;
    copy.real = batch->real;
    copy.epoch = batch->epoch;
    copy.step = batch->step;
    taken.push_back(std::move(copy));
  }
  return taken;
}

// Everything that is random, switched on.
Loader::Setup busy_setup(const Dataset& dataset) {
  Loader::Setup setup;
  setup.dataset = &dataset;
  setup.augment.mosaic = 0.6f;
  setup.augment.mixup = 0.4f;
  setup.augment.resize = 1.3f;
  setup.augment.vertical_flip = setup.augment.quarter_turns = 0.3f;
  setup.augment.rotate = 20;
  setup.augment.shear = 5;
  setup.augment.scale = setup.augment.translate = 0.2f;
  setup.augment.perspective = 0.0005f;
  setup.augment.blur = setup.augment.noise = setup.augment.grey = 0.3f;
  setup.augment.cutout = setup.augment.cutmix = setup.augment.copy_paste = 0.4f;
  setup.batch = 3;
  setup.sizes = {64, 96};
  setup.size_every = 2;
  setup.seed = 7;
  setup.epochs = 3;
  return setup;
}

// Pixels exactly as in the file and no randomness, so that a test can see which image it got.
Loader::Setup plain_setup(const Dataset& dataset) {
  Loader::Setup setup;
  setup.dataset = &dataset;
  setup.augment = {};
  setup.augment.mosaic = setup.augment.flip = setup.augment.jitter = setup.augment.hue = 0;
  setup.augment.saturation = setup.augment.exposure = 1;
  setup.sizes = {32};
  return setup;
}

// Sixteen images, one flat grey each: 10 · (1 + index).
Dataset grey_dataset(const std::filesystem::path& folder, int count) {
  Dataset dataset;
  for (int i = 0; i < count; ++i) {
    ImageRecord record;
    record.file = folder / (std::to_string(i) + ".png");
    record.width = record.height = 8;
    cv::imwrite(record.file.string(), cv::Mat(8, 8, CV_8UC3, cv::Scalar::all(10 * (1 + i))));
    dataset.images.push_back(record);
  }
  return dataset;
}

std::vector<int> images_of(const Taken& batch) {
  std::vector<int> images;
  const size_t bytes = 3 * static_cast<size_t>(batch.size) * static_cast<size_t>(batch.size);
  for (size_t at = 0; at < batch.pixels.size(); at += bytes) images.push_back(batch.pixels[at] / 10 - 1);
  return images;
}

TEST(Loader, SameSequenceForAnyNumberOfWorkers) {
  const Dataset dataset = draw_dataset(test_folder(), 10);
  Loader::Setup setup = busy_setup(dataset);
  setup.loader.workers = 0;
  const auto expected = take_all(setup);
  ASSERT_EQ(expected.size(), 12u);
  for (const int workers : {1, 8}) {
    for (const float cache_mb : {0.0f, 0.1f, 100.0f}) {
      setup.loader.workers = workers;
      setup.loader.cache_mb = cache_mb;
      setup.loader.prefetch = workers == 1 ? 1 : 5;
      EXPECT_TRUE(take_all(setup) == expected) << workers << " workers, " << cache_mb << " MiB";
    }
  }
}

TEST(Loader, AnotherSeedDrawsAnotherSequence) {
  const Dataset dataset = draw_dataset(test_folder(), 6);
  Loader::Setup setup = busy_setup(dataset);
  const auto first = take_all(setup);
  setup.seed = 8;
  EXPECT_FALSE(take_all(setup) == first);
}

TEST(Loader, ResumesWithTheVerySameLaterBatches) {
  const Dataset dataset = draw_dataset(test_folder(), 10);
  Loader::Setup setup = busy_setup(dataset);
  const auto all = take_all(setup);
  setup.start_epoch = 1;
  setup.start_step = 3;
  setup.loader.workers = 2;
  const auto rest = take_all(setup);
  ASSERT_EQ(rest.size(), 5u);
  EXPECT_EQ(rest[0].epoch, 1u);
  EXPECT_EQ(rest[0].step, 3u);
  for (size_t i = 0; i < rest.size(); ++i) EXPECT_TRUE(rest[i] == all[7 + i]) << i;
}

TEST(Loader, EachEpochIsAPermutationSharedOutAmongRanks) {
  const Dataset dataset = grey_dataset(test_folder(), 12);
  Loader::Setup setup = plain_setup(dataset);
  setup.epochs = 2;
  setup.batch = 4;
  const auto whole = take_all(setup);
  ASSERT_EQ(whole.size(), 6u);
  std::vector<std::vector<int>> epochs(2);
  for (const auto& batch : whole) {
    for (const int image : images_of(batch)) epochs[batch.epoch].push_back(image);
  }
  std::vector<int> every(12);
  std::iota(every.begin(), every.end(), 0);
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[0], every);
  for (auto epoch : epochs) {
    std::sort(epoch.begin(), epoch.end());
    EXPECT_EQ(epoch, every);
  }
  // Two ranks of two draw together what one of four draws.
  setup.batch = 2;
  setup.part = {0, 2};
  const auto left = take_all(setup);
  setup.part = {1, 2};
  const auto right = take_all(setup);
  ASSERT_EQ(left.size(), whole.size());
  ASSERT_EQ(right.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    auto joined = left[i].pixels;
    joined.insert(joined.end(), right[i].pixels.begin(), right[i].pixels.end());
    EXPECT_TRUE(joined == whole[i].pixels) << i;
  }
}

TEST(Loader, PadsAnUnevenTailAndCountsWhatIsReal) {
  const Dataset dataset = grey_dataset(test_folder(), 7);
  Loader::Setup setup = plain_setup(dataset);
  setup.batch = 2;
  setup.part = {0, 2};
  const auto left = take_all(setup);
  setup.part = {1, 2};
  const auto right = take_all(setup);
  ASSERT_EQ(left.size(), 2u);
  ASSERT_EQ(right.size(), 2u);
  EXPECT_EQ(left[1].real, 2);
  EXPECT_EQ(right[1].real, 1);
  std::multiset<int> seen;
  for (const auto* part : {&left, &right}) {
    for (const auto& batch : *part) {
      const auto images = images_of(batch);
      seen.insert(images.begin(), images.begin() + batch.real);
    }
  }
  EXPECT_EQ(seen, (std::multiset<int>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(images_of(right[1])[1], images_of(left[0])[0]) << "the padding starts the permutation over";
}

TEST(Loader, GivenStepsGoOnWithFurtherPermutations) {
  constexpr int images = 11;
  const Dataset dataset = grey_dataset(test_folder(), images);
  Loader::Setup setup = plain_setup(dataset);
  setup.steps_per_epoch = 17;  // three rounds of the data set and one image more
  setup.batch = 2;
  std::vector<int> shown;
  for (const auto& batch : take_all(setup)) {
    EXPECT_EQ(batch.real, 2);
    for (const int image : images_of(batch)) shown.push_back(image);
  }
  ASSERT_EQ(shown.size(), 34u);
  std::set<std::vector<int>> orders;
  for (auto first = shown.begin(); first + images < shown.end(); first += images) {
    const std::vector<int> order(first, first + images);
    EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), static_cast<size_t>(images));
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 3u) << "each round has an order of its own";
}

// A JPEG is decoded at an eighth, a quarter or half of its size where the input needs no more. A crop that is
// enlarged needs more: stripes four pixels of the input wide must be as clear as those of a PNG, which is
// always decoded whole.
TEST(Loader, DecodesJpegsLargeEnoughForTheSmallestCrop) {
  constexpr int side = 256, period = 8;
  cv::Mat image(side, side, CV_8UC3);
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x)
      image.at<cv::Vec3b>(y, x) = cv::Vec3b::all(
          static_cast<uint8_t>(std::lround(128 + 100 * std::sin(2 * CV_PI * (x + y) / period))));
  }
  const auto folder = test_folder();
  Dataset png, jpeg;
  for (const auto& [dataset, name] : {std::pair(&png, "stripes.png"), {&jpeg, "stripes.jpg"}}) {
    ImageRecord record;
    record.file = folder / name;
    record.width = record.height = side;
    ASSERT_TRUE(cv::imwrite(record.file.string(), image, {cv::IMWRITE_JPEG_QUALITY, 98}));
    dataset->images.assign(16, record);
  }
  // By zoom alone, by jitter alone, by scale alone, and with smaller sizes beside the largest. The last is
  // decoded at half its size, which keeps more of the contrast than the filter does; decoded for the smaller
  // input alone, the stripes would be gone.
  const struct {
    float resize, jitter, scale;
    std::vector<int> sizes;
    double tolerance;
  } cases[] = {{4, 0, 0, {32}, 6}, {1, 0.375f, 0, {32}, 6}, {1, 0, 0.9f, {64}, 8}, {1, 0, 0, {16, 128}, 25}};
  for (const auto& zoomed : cases) {
    std::vector<Taken> taken[2];
    for (const Dataset* dataset : {&png, &jpeg}) {
      Loader::Setup setup = plain_setup(*dataset);
      setup.augment.resize = zoomed.resize;
      setup.augment.jitter = zoomed.jitter;
      setup.augment.scale = zoomed.scale;
      setup.sizes = zoomed.sizes;
      setup.size_every = 1;
      setup.seed = 3;
      taken[dataset == &jpeg] = take_all(setup);
    }
    ASSERT_EQ(taken[0].size(), 16u);
    for (size_t i = 0; i < taken[0].size(); ++i) {
      const auto &exact = taken[0][i].pixels, &decoded = taken[1][i].pixels;
      ASSERT_EQ(exact.size(), decoded.size());
      double difference = 0;
      for (size_t at = 0; at < exact.size(); ++at) difference += std::abs(exact[at] - decoded[at]);
      EXPECT_LT(difference / static_cast<double>(exact.size()), zoomed.tolerance)
          << "resize " << zoomed.resize << ", jitter " << zoomed.jitter << ", scale " << zoomed.scale
          << ", image " << i;
    }
  }
}

TEST(Loader, ChangesTheSizeTogetherOnAllRanks) {
  const Dataset dataset = grey_dataset(test_folder(), 12);
  Loader::Setup setup = plain_setup(dataset);
  setup.sizes = {32, 64, 96};
  setup.size_every = 3;
  setup.epochs = 6;
  setup.batch = 1;
  setup.part = {0, 2};
  const auto left = take_all(setup);
  setup.part = {1, 2};
  const auto right = take_all(setup);
  ASSERT_EQ(left.size(), 36u);
  std::set<int> sizes;
  for (size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(left[i].size, right[i].size);
    EXPECT_EQ(left[i].size, left[i - i % 3].size) << "a size lasts size_every batches";
    sizes.insert(left[i].size);
  }
  EXPECT_EQ(sizes, (std::set<int>{32, 64, 96}));
}

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
  Loader loader(setup);
  for (int i = 0; i < 4; ++i) ASSERT_NE(loader.next(), nullptr);
  for (const ImageRecord& image : dataset.images) std::filesystem::remove(image.file);
  for (uint64_t i = 4; i < 50; ++i) {
    loader.set_end({100 + i, i % 2 == 0 ? 0u : 99u});
    ASSERT_NE(loader.next(), nullptr) << "all images are in the cache";
  }
}

TEST(Loader, MixupShowsBothImages) {
  const Dataset dataset = grey_dataset(test_folder(), 8);
  Loader::Setup setup = plain_setup(dataset);
  setup.augment.mixup = 1;
  setup.augment.mosaic_off = 0;
  setup.epochs = 4;
  int blended = 0;
  for (const auto& batch : take_all(setup)) blended += batch.pixels[0] % 10 != 0;
  EXPECT_GT(blended, 4) << "the mean of two greys lies between the tens for half of the pairs";
}

TEST(Loader, CarriesAWorkersErrorToItsBatch) {
  for (const int workers : {0, 1, 4}) {
    const Dataset dataset = grey_dataset(test_folder(), 9);
    Loader::Setup setup = plain_setup(dataset);
    setup.loader.workers = workers;
    setup.batch = 3;
    const auto all = take_all(setup);
    const std::filesystem::path broken = dataset.images[static_cast<size_t>(images_of(all[1])[1])].file;
    std::ofstream(broken) << "not an image";
    Loader loader(setup);
    ASSERT_NE(loader.next(), nullptr);
    for (int again = 0; again < 2; ++again) {
      try {
        loader.next();
        FAIL() << "a broken image went unnoticed";
      } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find(broken.string()), std::string::npos) << error.what();
      }
    }
  }
}

TEST(Loader, NoticesAnImageThatIsNoLongerTheSame) {
  const Dataset dataset = grey_dataset(test_folder(), 1);
  cv::imwrite(dataset.images[0].file.string(), cv::Mat(9, 8, CV_8UC3, cv::Scalar::all(0)));
  Loader loader(plain_setup(dataset));
  EXPECT_THROW(loader.next(), InputError);
}

TEST(Loader, EndsCleanlyAtAnyTime) {
  const Dataset dataset = draw_dataset(test_folder(), 10);
  for (int taken = 0; taken < 6; ++taken) {
    Loader::Setup setup = busy_setup(dataset);
    setup.loader.workers = 4;
    Loader loader(setup);
    for (int i = 0; i < taken; ++i) EXPECT_NE(loader.next(), nullptr);
  }
}

TEST(Loader, GivesEveryBufferBackToItsSource) {
  const Dataset dataset = grey_dataset(test_folder(), 8);
  std::set<void*> out;
  {
    Loader::Setup setup = plain_setup(dataset);
    const BufferSource host = BufferSource::host();
    setup.buffers.allocate = [&](size_t bytes) { return *out.insert(host.allocate(bytes)).first; };
    setup.buffers.release = [&](void* data) {
      EXPECT_EQ(out.erase(data), 1u);
      host.release(data);
    };
    setup.loader.prefetch = 2;
    setup.loader.workers = 2;
    Loader loader(setup);
    EXPECT_EQ(out.size(), 3u);
    std::set<const void*> used;
    while (const Batch* batch = loader.next()) {
      EXPECT_TRUE(out.contains(batch->pixels));
      used.insert(batch->pixels);
    }
    EXPECT_EQ(used.size(), 3u) << "buffers are used again";
  }
  EXPECT_TRUE(out.empty());
}

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
}  // namespace brightnet
