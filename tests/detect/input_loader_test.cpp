#include "detect/input_loader.h"

#include <algorithm>
#include <numeric>

#include "data/image/darknet_image.h"
#include "data/image/grey.h"
#include "data/image/read_image.h"
#include "detect/sources/dataset_source.h"
#include "detect/sources/memory_source.h"
#include "tests/data/loader/taken_batches.h"
#include "tests/data/pictures.h"

namespace brightnet::testing {
namespace {

const uint8_t* pixels_of(const InputLoader::Batch& batch) {
  return static_cast<const uint8_t*>(batch.input);
}

TEST(InputLoader, SameInOrderForAnyNumberOfWorkers) {
  const Dataset dataset = draw_dataset(test_folder(), 11);
  const std::vector<int> order{3, 1, 4, 10, 5, 9, 2, 6, 8};
  std::vector<uint8_t> expected;
  for (const int workers : {0, 1, 8}) {
    DatasetSource source(dataset, order, {.size = 64});
    InputLoader loader(source, {.batch = 4, .fit = {.size = 64}, .workers = workers});
    std::vector<uint8_t> pixels;
    std::vector<int> indices, counts;
    while (const auto* batch = loader.next()) {
      counts.push_back(static_cast<int>(batch->inputs.size()));
      for (const auto& input : batch->inputs) indices.push_back(input.frame->record);
      pixels.insert(pixels.end(), pixels_of(*batch), pixels_of(*batch) + batch->inputs.size() * 64 * 64 * 3);
    }
    EXPECT_EQ(indices, order);
    EXPECT_EQ(counts, (std::vector<int>{4, 4, 1}));
    if (expected.empty()) expected = pixels;
    EXPECT_TRUE(pixels == expected) << workers;
  }
}

TEST(InputLoader, EachIndexComesWithItsOwnPixels) {
  const Dataset dataset = grey_dataset(test_folder(), 9);
  const std::vector<int> order{3, 1, 4, 0, 5, 8, 2, 6, 7};
  for (const int workers : {0, 3}) {
    DatasetSource source(dataset, order, {.size = 32});
    InputLoader loader(source, {.batch = 4, .fit = {.size = 32}, .workers = workers});
    size_t seen = 0;
    while (const auto* batch = loader.next()) {
      for (size_t i = 0; i < batch->inputs.size(); ++i, ++seen) {
        const uint8_t* first = pixels_of(*batch) + i * 32 * 32 * 3;
        EXPECT_EQ(first[0], 10 * (1 + batch->inputs[i].frame->record));
        EXPECT_TRUE(
            std::all_of(first, first + 32 * 32 * 3, [&](uint8_t value) { return value == first[0]; }));
      }
    }
    EXPECT_EQ(seen, order.size());
  }
}

// A white box on black, found again in the input where arithmetic by hand and place() say.
TEST(InputLoader, PlaceMapsExactlyBackToTheImage) {
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
      const InputFit fit{.size = 256, .letterbox = letterbox};
      DatasetSource source(dataset, {0}, fit);
      InputLoader loader(source, {.fit = fit});
      const auto* batch = loader.next();
      ASSERT_NE(batch, nullptr);
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
          const uint8_t* pixel = pixels_of(*batch) + 3 * (y * 256 + x);
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

TEST(InputLoader, CarriesAWorkersError) {
  Dataset dataset = draw_dataset(test_folder(), 4);
  std::filesystem::remove(dataset.images[2].file);
  const InputFit fit{.size = 64, .letterbox = true};
  DatasetSource source(dataset, {0, 1, 2, 3}, fit);
  InputLoader loader(source, {.batch = 2, .fit = fit, .workers = 2});
  EXPECT_NE(loader.next(), nullptr);
  EXPECT_THROW(loader.next(), InputError);
}

/// Two pictures with grain, so that no two parts are alike.
Dataset grainy_pictures(const std::filesystem::path& folder, const std::string& extension) {
  Dataset dataset;
  for (int i = 0; i < 2; ++i) {
    dataset.images.push_back({folder / (std::to_string(i) + extension), i, 301, 203, {}});
    cv::imwrite(dataset.images.back().file.string(), picture(static_cast<uint64_t>(7 + i), 301, 203));
  }
  return dataset;
}

/// Every tile of the pictures as a file of its own; the whole pictures stay as they are.
Dataset written_tiles(const Dataset& pictures, const TileOptions& options, Resize resize,
                      const std::filesystem::path& folder) {
  Dataset written;
  for (const ImageRecord& image : pictures.images) {
    const cv::Mat rgb = resize == Resize::darknet ? read_darknet_image(image.file) : read_image(image.file);
    for (const ImageTile& tile : tiles_of(image.width, image.height, options)) {
      ImageRecord& record = written.images.emplace_back(image);
      if (tile.whole()) continue;
      record.file = folder / ("tile" + std::to_string(written.images.size()) + ".png");
      record.width = tile.width;
      record.height = tile.height;
      cv::Mat bgr;
      cv::cvtColor(rgb(cv::Rect(tile.x, tile.y, tile.width, tile.height)), bgr, cv::COLOR_RGB2BGR);
      cv::imwrite(record.file.string(), bgr);
    }
  }
  return written;
}

std::vector<int> all_of(const Dataset& dataset) {
  std::vector<int> order(dataset.images.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// The bytes of every input, in order.
std::vector<std::vector<uint8_t>> inputs_of(FrameSource& source, const InputLoader::Setup& setup) {
  InputLoader loader(source, setup);
  std::vector<std::vector<uint8_t>> inputs;
  while (const auto* batch = loader.next()) {
    const size_t bytes = bytes_of_input(batch->fit);
    for (size_t i = 0; i < batch->inputs.size(); ++i)
      inputs.emplace_back(pixels_of(*batch) + i * bytes, pixels_of(*batch) + (i + 1) * bytes);
  }
  return inputs;
}

// A JPEG that is twice as large as the input is decoded at half its size as a whole, and not for its tiles.
TEST(InputLoader, TilesAreThoseThatWouldHaveBeenWritten) {
  const TileOptions options{.size = 128};
  for (const std::string extension : {".png", ".jpg"}) {
    const auto folder = test_folder();
    const Dataset pictures = grainy_pictures(folder, extension);
    const Dataset records = cut_into_tiles(pictures, options);
    for (const Resize resize : {Resize::antialiased, Resize::darknet}) {
      const Dataset written = written_tiles(pictures, options, resize, folder);
      ASSERT_GT(written.images.size(), 10u);
      const InputFit fit{.size = 64, .letterbox = true, .resize = resize};
      DatasetSource of_files(written, all_of(written), fit), of_records(records, all_of(records), fit);
      const auto expected = inputs_of(of_files, {.batch = 3, .fit = fit, .workers = 2});
      EXPECT_EQ(expected.size(), written.images.size());
      EXPECT_TRUE(inputs_of(of_records, {.batch = 3, .fit = fit, .workers = 2}) == expected);
      for (const int workers : {0, 1, 5}) {
        DatasetSource of_tiles(pictures, all_of(pictures), fit, options);
        const auto inputs =
            inputs_of(of_tiles, {.batch = 3, .fit = fit, .workers = workers, .tiles = options});
        EXPECT_TRUE(inputs == expected) << extension << workers;
      }
    }
  }
}

TEST(InputLoader, RefusesAPictureThatHasChangedSinceItWasRead) {
  const Dataset pictures = grainy_pictures(test_folder(), ".png");
  cv::imwrite(pictures.images[1].file.string(), picture(3, 300, 203));
  for (const TileOptions& tiles : {TileOptions{}, TileOptions{.size = 128}}) {
    DatasetSource source(pictures, {0, 1}, {.size = 64}, tiles);
    EXPECT_THROW(inputs_of(source, {.fit = {.size = 64}, .workers = 2, .tiles = tiles}), InputError);
  }
}

/// The last tile of each of the frames, and no other, says so.
TEST(InputLoader, SaysWhichTileIsTheLastOfItsFrame) {
  const Dataset pictures = grainy_pictures(test_folder(), ".png");
  const TileOptions options{.size = 128};
  DatasetSource source(pictures, {1, 0}, {.size = 32}, options);
  InputLoader loader(source, {.batch = 4, .fit = {.size = 32}, .tiles = options});
  std::vector<int> lasts, records;
  int number = 0;
  while (const auto* batch = loader.next()) {
    for (const auto& input : batch->inputs) {
      if (++number; !input.last) continue;
      lasts.push_back(number);
      records.push_back(input.frame->record);
    }
  }
  const int tiles = static_cast<int>(tiles_of(301, 203, options).size());
  EXPECT_EQ(lasts, (std::vector<int>{tiles, 2 * tiles}));
  EXPECT_EQ(records, (std::vector<int>{1, 0}));
}

PixelImage view_of(const cv::Mat& image, bool bgr = false) {
  return {image.data, image.rows, image.cols, image.step, image.channels(), bgr};
}

TEST(InputLoader, TakesPixelsOfAnyChannelsWhereTheyAre) {
  const cv::Mat rgb = picture(5, 90, 70), grey = grey_of(rgb);
  cv::Mat bgr, grey_rgb;
  cv::cvtColor(rgb, bgr, cv::COLOR_RGB2BGR);
  cv::cvtColor(grey, grey_rgb, cv::COLOR_GRAY2RGB);
  cv::Mat frame(100, 120, CV_8UC3, cv::Scalar::all(7));
  const cv::Mat part = frame(cv::Rect(9, 11, 90, 70));  // its rows do not follow one another
  rgb.copyTo(part);
  for (const Resize resize : {Resize::antialiased, Resize::darknet}) {
    for (const int channels : {1, 3}) {
      for (const int side : {32, 160}) {
        const InputFit fit{.size = side, .letterbox = true, .resize = resize, .channels = channels};
        const auto input = [&](const PixelImage& image) {
          MemorySource source({&image, 1});
          return inputs_of(source, {.fit = fit, .workers = 0}).at(0);
        };
        const auto expected = input(view_of(rgb));
        EXPECT_TRUE(input(view_of(bgr, true)) == expected);
        EXPECT_FALSE(input(view_of(bgr)) == expected);
        EXPECT_TRUE(input(view_of(part)) == expected);
        EXPECT_TRUE(input(view_of(grey)) == input(view_of(grey_rgb))) << channels << ' ' << side;
      }
    }
  }
}

TEST(InputLoader, RefusesMemoryThatHoldsNoImage) {
  const std::vector<uint8_t> memory(300);
  const auto expect_refusal = [](PixelImage image) {
    EXPECT_THROW(MemorySource({&image, 1}), InputError) << image.width << ' ' << image.channels;
  };
  expect_refusal({nullptr, 10, 10, 30, 3});
  expect_refusal({memory.data(), 0, 10, 30, 3});
  expect_refusal({memory.data(), 10, 10, 29, 3});
  expect_refusal({memory.data(), 10, 10, 40, 4});
  const PixelImage good{memory.data(), 10, 10, 30, 3};
  EXPECT_NO_THROW(MemorySource({&good, 1}));
}

/// A data set that is taken for a camera.
class LivePictures : public DatasetSource {
 public:
  using DatasetSource::DatasetSource;
  bool live() const override { return true; }
};

// The next frame of a camera is yet to come.
TEST(InputLoader, ALiveFramesTilesDoNotWaitForTheNextFrame) {
  const Dataset pictures = grainy_pictures(test_folder(), ".png");
  const TileOptions options{.size = 128};
  const auto tiles = static_cast<int>(tiles_of(301, 203, options).size());
  const auto counts_of = [&](FrameSource& source) {
    InputLoader loader(source, {.batch = 64, .fit = {.size = 32}, .workers = 0, .tiles = options});
    std::vector<int> counts;
    while (const auto* batch = loader.next()) counts.push_back(static_cast<int>(batch->inputs.size()));
    return counts;
  };
  DatasetSource files(pictures, {0, 1}, {.size = 32}, options);
  LivePictures camera(pictures, {0, 1}, {.size = 32}, options);
  EXPECT_EQ(counts_of(files), std::vector<int>{2 * tiles});
  EXPECT_EQ(counts_of(camera), (std::vector<int>{tiles, tiles}));
}

}  // namespace
}  // namespace brightnet::testing
