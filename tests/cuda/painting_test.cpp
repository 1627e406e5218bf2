// The pictures that a GPU paints against those of the CPU's painter, and a step on them.
#include <gtest/gtest.h>

#include "data/loader/sample.h"
#include "tests/data/loader/taken_batches.h"
#include "tests/data/painted.h"
#include "tests/kernels/device.h"
#include "tests/layers/models.h"

namespace brightnet::testing {
namespace {

/// In the device's memory for uploads, which an emulated kernel must not see changing: without threads of the loader.
void paint_on_device(Loader::Setup& setup) {
  setup.pictures = true;
  setup.loader.workers = 0;
  setup.buffers = {[](size_t bytes) { return device().allocate_host(bytes); },
                   [](void* memory) { device().release_host(memory); }};
}

TEST(CudaPainting, PaintsWhatTheCpuPaintsWithinOneLevel) {
  const Dataset dataset = detailed_dataset(test_folder(), 8);
  for (const int channels : {3, 1}) {
    for (const bool warped : {false, true}) {
      Loader::Setup setup = painted_setup(dataset, warped);
      setup.channels = channels;
      const std::vector<Taken> expected = take_all(setup);
      paint_on_device(setup);
      Loader loader(setup);
      Difference difference;
      int painted = 0;
      for (const Taken& batch : expected) {
        device().finish_uploads();
        const Batch* pictures = loader.next();
        ASSERT_TRUE(pictures);
        const OwnedTensor pixels({pictures->count, pictures->height, pictures->width, channels}, DType::u8);
        const OwnedArray<std::byte> memory(pictures->pictures.layout.bytes());
        const Tensor& painted_pixels = *pixels;
        device().hold_uploads();  // until what they were filled with is there
        device().paint_ahead(pictures->pictures, memory.data(), painted_pixels);
        std::vector<uint8_t> actual(pixels.count());
        device().download(actual.data(), (*pixels).data, actual.size());
        difference.add(actual.data(), batch.pixels.data(), actual.size());
        painted += pictures->painted;
      }
      EXPECT_LE(difference.beyond_one, warped ? difference.values / 1000 : 0)
          << difference.most << " levels at most, " << channels << " channels";
      EXPECT_LE(painted, 3) << "of 16: the others come from images";
    }
  }
}

constexpr const char* painted_model = R"(
activation: leaky
head: {anchors: [[10, 12], [24, 20]]}
layers:
  - conv: {filters: 8, size: 3, stride: 2}
  - conv: {filters: 16, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

// Pictures of one batch are painted while the step on those of the one before may still be queued.
TEST(CudaPainting, ANetworkTrainsOnPicturesAsOnTheirPixels) {
  const Dataset dataset = detailed_dataset(test_folder(), 8);
  Loader::Setup setup = painted_setup(dataset, false);
  paint_on_device(setup);
  const Model model = model_of(painted_model, 1);
  BoundNetwork expected(device(), model, setup.batch, setup.sizes[0], Precision::fp32, Mode::train);
  BoundNetwork actual(device(), model, setup.batch, setup.sizes[0], Precision::fp32, Mode::train, false,
                      false, most_placed_images(setup.augment));
  EXPECT_GT(actual.network().memory().input, expected.network().memory().input);
  Loader loader(setup);
  for (int step = 0; step < 3; ++step) {
    device().finish_uploads();
    const Batch* batch = loader.next();
    ASSERT_TRUE(batch);
    actual.network().set_batch(batch->pictures, batch->truths);
    const double loss = actual.loss();
    const std::vector<uint8_t> pixels = pixels_of(*batch);
    expected.network().set_batch(pixels.data(), batch->truths);
    EXPECT_NEAR(loss, expected.loss(), 1e-3 * loss) << "step " << step;
    device().finish_uploads();
  }
}

}  // namespace
}  // namespace brightnet::testing
