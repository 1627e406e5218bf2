#include "data/loader/loader.h"

#include <fstream>
#include <numeric>
#include <set>

#include "data/commands/shard.h"
#include "tests/data/loader/taken_batches.h"

namespace brightnet::testing {
namespace {

TEST(Loader, SameSequenceForAnyNumberOfWorkers) {
  const Dataset dataset = draw_dataset(test_folder(), 10);
  for (const int channels : {3, 1}) {
    Loader::Setup setup = busy_setup(dataset);
    setup.channels = channels;
    setup.loader.workers = 0;
    const auto expected = take_all(setup);
    ASSERT_EQ(expected.size(), 12u);
    for (const int workers : {1, 8}) {
      for (const float cache_mb : {0.0f, 0.1f, 100.0f}) {
        setup.loader.workers = workers;
        setup.loader.cache_mb = cache_mb;
        setup.loader.prefetch = workers == 1 ? 1 : 5;
        EXPECT_TRUE(take_all(setup) == expected)
            << channels << " channels, " << workers << " workers, " << cache_mb << " MiB";
      }
    }
  }
}

TEST(Loader, BatchesThatNoMachineHoldsAreRefusedWithTheFigures) {
  const Dataset dataset = grey_dataset(test_folder(), 1);
  Loader::Setup setup = plain_setup(dataset);
  setup.batch = 1'000'000'000;
  setup.sizes = {8192};
  setup.loader.prefetch = 2;
  EXPECT_EQ(Loader::buffer_bytes(setup), 3ull * 3 * 8192 * 8192 * 1'000'000'000);
  try {
    const Loader loader(setup);
    FAIL() << "no error";
  } catch (const InputError& error) {
    for (const char* part : {"not enough memory", "1000000000 images", "549316.4 TiB", "are free"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
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

/// The data set with its images in archives of this many.
Dataset archived(const Dataset& dataset, const std::filesystem::path& folder, size_t images) {
  Dataset out;
  out.classes = dataset.classes;
  for (size_t first = 0; first < dataset.images.size(); first += images) {
    Dataset part;
    part.images.assign(
        dataset.images.begin() + static_cast<ptrdiff_t>(first),
        dataset.images.begin() + static_cast<ptrdiff_t>(std::min(first + images, dataset.images.size())));
    const std::filesystem::path own = folder / std::to_string(first);
    EXPECT_EQ(shard_split(part, Split::val, own, uint64_t{1} << 30), 1);
    for (ImageRecord image : part.images) {
      const std::string name = image.file.filename().string();
      image.file = own / "val/000000.tar" / name;
      out.images.push_back(image);
    }
  }
  return out;
}

TEST(Loader, ReadsArchivesInSequenceTheSameForAnyNumberOfWorkersAndAfterResuming) {
  const auto folder = test_folder();
  const Dataset files = draw_dataset(folder, 10), dataset = archived(files, folder / "tars", 4);
  Loader::Setup setup = busy_setup(dataset);
  setup.augment.mixup = setup.augment.copy_paste = setup.augment.cutmix = 0.5;
  setup.loader.shuffle_buffer = 3;
  setup.loader.workers = 0;
  const auto expected = take_all(setup);
  ASSERT_EQ(expected.size(), 12u);
  setup.loader.workers = 3;
  EXPECT_TRUE(take_all(setup) == expected);
  setup.start_epoch = 1;
  setup.start_step = 2;
  const auto rest = take_all(setup);
  ASSERT_EQ(rest.size(), 6u);
  for (size_t i = 0; i < rest.size(); ++i) EXPECT_TRUE(rest[i] == expected[6 + i]) << i;
  // The same images by themselves come in an order of their own.
  setup = busy_setup(files);
  setup.loader.workers = 0;
  EXPECT_FALSE(take_all(setup) == expected);
}

TEST(Loader, ImagesBetweenArchivesAreOneRun) {
  const auto folder = test_folder();
  const Dataset files = grey_dataset(folder, 12);
  Dataset dataset = archived(files, folder / "tars", 4);
  for (size_t i = 4; i < 8; ++i) dataset.images[i] = files.images[i];
  Loader::Setup setup = plain_setup(dataset);
  setup.loader.shuffle_buffer = 1;  // so that only runs are shuffled
  setup.epochs = 4;
  std::vector<int> order;
  for (const Taken& batch : take_all(setup)) order.push_back(images_of(batch).at(0));
  ASSERT_EQ(order.size(), 48u);
  for (size_t i = 0; i < order.size(); ++i)
    EXPECT_EQ(order[i] % 4, static_cast<int>(i % 4)) << "an image of another run at " << i;
  for (size_t i = 1; i < order.size(); ++i) {
    if (i % 4 > 0) {
      EXPECT_EQ(order[i], order[i - 1] + 1) << i;
    }
  }
}

TEST(Loader, OthersOfAMosaicAreReadNearby) {
  // Images of one grey each, by which a sample tells what it is made of.
  const auto folder = test_folder();
  const Dataset dataset = archived(grey_dataset(folder, 24), folder / "tars", 24);
  Loader::Setup setup = plain_setup(dataset);
  setup.augment.mosaic = 1;
  setup.loader.shuffle_buffer = 4;
  setup.batch = 1;
  setup.epochs = 1;
  std::vector<std::set<uint8_t>> seen;
  for (const Taken& batch : take_all(setup)) seen.emplace_back(batch.pixels.begin(), batch.pixels.end());
  ASSERT_EQ(seen.size(), 24u);
  size_t most = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    most = std::max(most, seen[i].size());
    for (size_t k = i + 8; k < seen.size(); ++k) {  // the buffers of the two have no image in common
      for (const uint8_t grey : seen[i]) EXPECT_FALSE(seen[k].contains(grey)) << i << ' ' << k;
    }
  }
  EXPECT_GE(most, 2u) << "mosaics are of several";
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
    std::vector<InputSize> sizes;
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

// A quarter turn lays an image's width along the input's height. Stripes of 8 pixels cross the side that the input shows at
// half its length; at a quarter of it, as much as the other side needs, they would be gone.
TEST(Loader, DecodesJpegsLargeEnoughForARectangularInput) {
  const auto folder = test_folder();
  for (const bool turns : {false, true}) {
    const cv::Size size = turns ? cv::Size(512, 256) : cv::Size(256, 512);
    cv::Mat image(size, CV_8UC3);
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const double wave = 128 + 100 * std::cos(2 * CV_PI * ((turns ? y : x) + 0.5) / 8);
        image.at<cv::Vec3b>(y, x) = cv::Vec3b::all(static_cast<uint8_t>(std::lround(wave)));
      }
    }
    std::vector<Taken> taken[2];
    for (const char* name : {"stripes.png", "stripes.jpg"}) {
      Dataset dataset;
      ImageRecord record;
      record.file = folder / name;
      record.width = size.width;
      record.height = size.height;
      ASSERT_TRUE(cv::imwrite(record.file.string(), image, {cv::IMWRITE_JPEG_QUALITY, 98}));
      dataset.images.assign(8, record);
      Loader::Setup setup = plain_setup(dataset);
      setup.augment.quarter_turns = turns ? 1 : 0;
      setup.sizes = {InputSize(32, 128)};
      taken[record.file.extension() == ".jpg"] = take_all(setup);
    }
    ASSERT_EQ(taken[0].size(), 8u);
    double clearest = 0;
    for (size_t i = 0; i < 8; ++i) {
      double difference = 0, contrast = 0;
      for (size_t at = 0; at < taken[0][i].pixels.size(); ++at) {
        difference += std::abs(taken[0][i].pixels[at] - taken[1][i].pixels[at]);
        contrast += std::abs(taken[0][i].pixels[at] - 128);
      }
      const auto values = static_cast<double>(taken[0][i].pixels.size());
      clearest = std::max(clearest, contrast / values);
      EXPECT_LT(difference / values, 25) << "image " << i << (turns ? ", turned" : "");
    }
    EXPECT_GT(clearest, 40) << "the stripes are seen";
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
    Random random(setup.seed, Purpose::size, 0, i / 3);
    EXPECT_EQ(left[i].size, setup.sizes[random.below(3)].width) << i;
    sizes.insert(left[i].size);
  }
  EXPECT_EQ(sizes, (std::set<int>{32, 64, 96}));
  setup.seed = 9;
  const auto other = take_all(setup);
  ASSERT_EQ(other.size(), 36u);
  int changed = 0;
  for (size_t i = 0; i < other.size(); ++i) changed += other[i].size != left[i].size;
  EXPECT_GT(changed, 0) << "the seed draws the sizes too";
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

}  // namespace
}  // namespace brightnet::testing
