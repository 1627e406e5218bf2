// JPEG files that a GPU decodes against those that libjpeg decodes. The emulated nvJPEG gives libjpeg's pixels; the real one
// transforms and interpolates by itself, and how far its pixels lie from libjpeg's is printed.
#include <cstdio>
#include <thread>

#include <gtest/gtest.h>

#include "tests/data/encoded_jpeg.h"
#include "tests/data/loader/taken_batches.h"
#include "tests/data/painted.h"
#include "tests/kernels/device.h"

namespace brightnet::testing {
namespace {

/// Of smooth images: the mean of |difference| in levels of 255. An H200 was seen to reach 0.04, for progressive files.
constexpr double most_mean_difference = 0.2;

bool emulated() {
  return device().name() == "emulated GPU";
}

#define SKIP_WITHOUT_DECODER() \
  if (const auto why = device().why_no_jpeg_decoder(); !why.empty()) GTEST_SKIP() << "no nvJPEG: " << why

void expect_close(const cv::Mat& actual, const cv::Mat& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size());
  const double mean =
      cv::norm(actual, expected, cv::NORM_L1) / static_cast<double>(expected.total() * expected.elemSize());
  const double most = cv::norm(actual, expected, cv::NORM_INF);
  if (emulated()) {
    EXPECT_EQ(most, 0) << what;
  } else {
    std::printf("%s: %.3f levels from libjpeg's on average, %.0f at most\n", what.c_str(), mean, most);
    EXPECT_LE(mean, most_mean_difference) << what;
  }
}

TEST(CudaJpegDecoder, DecodesAllKindsThatItIsGivenAsLibjpegDoes) {
  SKIP_WITHOUT_DECODER();
  const std::unique_ptr<JpegDecoder> decoder = device().make_jpeg_decoder(1);
  struct Named {
    std::string name;
    JpegKind kind;
  };
  const std::vector<Named> kinds{{"4:2:0", {}},
                                 {"4:4:4", {.across = 1, .down = 1}},
                                 {"4:2:2", {.across = 2, .down = 1}},
                                 {"4:4:0", {.across = 1, .down = 2}},
                                 {"4:2:0 progressive", {.progressive = true}},
                                 {"4:4:4 progressive", {.across = 1, .down = 1, .progressive = true}},
                                 {"grey", {.colors = JCS_GRAYSCALE}},
                                 {"grey progressive", {.progressive = true, .colors = JCS_GRAYSCALE}}};
  for (const auto& [name, kind] : kinds) {
    for (const cv::Size size : {cv::Size(640, 480), cv::Size(333, 251), cv::Size(7, 5)}) {
      const std::vector<uint8_t> file = encoded_jpeg(smooth_image(size), kind);
      for (const int channels : {3, 1}) {
        if (channels == 3 && kind.colors == JCS_GRAYSCALE) continue;
        const cv::Mat expected = decode_jpeg(file, 1, {}, channels).image;
        const cv::Rect window(size.width / 3, size.height / 4, size.width / 2, size.height / 2);
        for (const cv::Rect& part : {cv::Rect({}, size), window}) {
          cv::Mat actual(part.size(), expected.type());
          ASSERT_TRUE(decoder->decode(
              file, {size.width, size.height, channels, part.x, part.y, part.width, part.height},
              actual.ptr()))
              << name;
          expect_close(actual, expected(part),
                       name + ' ' + std::to_string(size.width) + '/' + std::to_string(part.width) + " in " +
                           std::to_string(channels));
        }
      }
    }
  }
}

// Decoding adds neither to what the plan of a run says nor to what steps allocate.
TEST(CudaJpegDecoder, AllocatesWhatItSaysAndNoMore) {
  SKIP_WITHOUT_DECODER();
  const size_t before = device().allocated_bytes();
  {
    const auto decoder = device().make_jpeg_decoder(2);
    EXPECT_EQ(device().allocated_bytes() - before, device().jpeg_decoder_bytes(2));
    // The largest after a smaller one, whose memory nvJPEG keeps.
    for (const cv::Size size : {cv::Size(1200, 1000), cv::Size(2048, 1024), cv::Size(64, 64)}) {
      const cv::Mat image = smooth_image(size);
      const auto file = encoded_jpeg(image);
      cv::Mat actual(size, CV_8UC3);
      ASSERT_TRUE(
          decoder->decode(file, {size.width, size.height, 3, 0, 0, size.width, size.height}, actual.ptr()));
      expect_close(actual, decode_jpeg(file, 1).image, "of " + std::to_string(size.area()) + " pixels");
    }
    EXPECT_EQ(device().allocated_bytes() - before, device().jpeg_decoder_bytes(2));
  }
  EXPECT_EQ(device().allocated_bytes(), before);
}

// The emulated GPU is one thread's, and so is a single lane.
TEST(CudaJpegDecoder, ThreadsShareItsLanes) {
  SKIP_WITHOUT_DECODER();
  const auto decoder = device().make_jpeg_decoder(emulated() ? 1 : 3);
  constexpr int threads = 4, rounds = 5;
  std::vector<cv::Mat> decoded(threads * rounds);
  std::vector<std::vector<uint8_t>> files;
  for (int i = 0; i < threads * rounds; ++i)
    files.push_back(encoded_jpeg(smooth_image({40 + i, 90 - i}, static_cast<uint64_t>(i) + 1)));
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      for (int i = thread; i < threads * rounds; i += threads) {
        cv::Mat& pixels = decoded[static_cast<size_t>(i)];
        pixels.create(90 - i, 40 + i, CV_8UC3);
        const JpegPart part{pixels.cols, pixels.rows, 3, 0, 0, pixels.cols, pixels.rows};
        EXPECT_TRUE(decoder->decode(files[static_cast<size_t>(i)], part, pixels.ptr()));
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  for (size_t i = 0; i < files.size(); ++i)
    expect_close(decoded[i], decode_jpeg(files[i], 1).image, "of threads " + std::to_string(i));
}

Dataset jpeg_dataset(int count) {
  const auto folder = test_folder();
  Dataset dataset;
  dataset.classes = {"box"};
  const JpegKind kinds[] = {{}, {.across = 1, .down = 1}, {.progressive = true}, {.colors = JCS_GRAYSCALE}};
  for (int i = 0; i < count; ++i) {
    ImageRecord record;
    record.width = 90 + 13 * i;
    record.height = 150 - 11 * i;
    record.file = folder / (std::to_string(i) + ".jpg");
    write_file(record.file.string(),
               encoded_jpeg(smooth_image({record.width, record.height}, static_cast<uint64_t>(i) + 1),
                            kinds[i % 4]));
    record.annotations.push_back({10, 20, 50, 60, 0, false, false, 1600});
    dataset.images.push_back(record);
  }
  return dataset;
}

TEST(CudaJpegDecoder, SamplesAreTheCpusWithTheDevicesPixels) {
  SKIP_WITHOUT_DECODER();
  const Dataset dataset = jpeg_dataset(8);
  for (const bool warped : {false, true}) {
    Loader::Setup setup = painted_setup(dataset, warped);
    const std::vector<Taken> expected = take_all(setup);
    const auto decoder = device().make_jpeg_decoder(2);
    setup.decoder = decoder.get();
    setup.pictures = true;
    setup.loader.workers = 0;
    setup.loader.cache_mb = 0.0f;
    const std::vector<Taken> decoded = take_all(setup);
    ASSERT_EQ(decoded.size(), expected.size());
    // The emulated GPU is one thread's.
    setup.loader.workers = emulated() ? 0 : 4;
    setup.loader.cache_mb = 100.0f;
    EXPECT_TRUE(take_all(setup) == decoded) << "for any cache, and number of workers";
    setup.pictures = false;
    const std::vector<Taken> painted = take_all(setup);
    double difference = 0, values = 0;
    for (size_t i = 0; i < painted.size(); ++i) {
      const auto &a = painted[i].pixels, &b = expected[i].pixels;
      ASSERT_EQ(a.size(), b.size());
      values += static_cast<double>(a.size());
      for (size_t j = 0; j < a.size(); ++j) difference += std::abs(int{a[j]} - int{b[j]});
    }
    EXPECT_LE(difference / values, emulated() ? 0 : most_mean_difference);
  }
}

}  // namespace
}  // namespace brightnet::testing
