#include "formats/input_channels.h"

#include <cmath>

#include <gtest/gtest.h>

#include "formats/darknet/export.h"
#include "formats/darknet/weights.h"
#include "formats/weights.h"
#include "layers/network.h"
#include "tests/layers/models.h"
#include "train/setup/finetune.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

Model tiny(int channels) {
  return load_model(source_dir() / "configs/models/yolov4-tiny.yaml", 3, {}, channels);
}

/// The last head's predictions for these pixels, HWC.
std::vector<float> predictions(const Model& model, const std::vector<float>& values,
                               std::vector<uint8_t> pixels) {
  const auto backend = make_cpu_backend();
  BoundNetwork bound(*backend, model, 1, {64, 96}, Precision::fp32, Mode::infer);
  bound.set_values(values);
  bound.network().set_pixels(pixels.data());
  bound.network().infer();
  const Tensor out = bound.network().output(bound.network().layer_count() - 1);
  return {out.as<float>(), out.as<float>() + out.count()};
}

// The whole claim: a network for grey images that starts from RGB weights predicts what the RGB network predicts of
// the same images, their grey in all three channels. From either kind of file.
TEST(InputChannels, RgbWeightsPredictTheSameOfGreyImages) {
  const Model rgb = tiny(3), grey = tiny(1);
  const ParameterLayout rgb_layout(rgb), grey_layout(grey);
  const std::vector<float> rgb_values = initial_parameters(rgb, rgb_layout, 7);
  const fs::path folder = fs::path(::testing::TempDir()) / "input_channels";
  fs::create_directories(folder);
  TrainedModel trained{
      .model = rgb, .classes = {"a", "b", "c"}, .training = {}, .layout = rgb_layout, .values = rgb_values};
  save_weights(folder / "rgb.safetensors", trained);
  save_darknet_weights(folder / "rgb.weights", rgb, rgb_layout, rgb_values);
  Random random(3, Purpose::test);
  std::vector<uint8_t> one(64 * 96), three;
  for (uint8_t& pixel : one) {
    pixel = static_cast<uint8_t>(random.below(256));
    three.insert(three.end(), 3, pixel);
  }
  const std::vector<float> expected = predictions(rgb, rgb_values, three);
  for (const char* file : {"rgb.safetensors", "rgb.weights"}) {
    TrainOptions train;
    train.weights = (folder / file).string();
    std::vector<float> values = initial_parameters(grey, grey_layout, 8);
    read_pretrained(train, grey, trained.classes, grey_layout, values);
    EXPECT_TRUE(train.fresh.empty()) << file << ": everything was taken";
    const std::vector<float> found = predictions(grey, values, one);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], expected[i], 1e-4 * (1 + std::abs(expected[i]))) << file;
  }
  fs::remove_all(folder);
}

TEST(InputChannels, GreyWeightsOfDarknetAreReadAsTheyAre) {
  const Model grey = tiny(1);
  const ParameterLayout layout(grey);
  const std::vector<float> saved = initial_parameters(grey, layout, 7);
  const fs::path file = fs::path(::testing::TempDir()) / "input_channels_grey.weights";
  save_darknet_weights(file, grey, layout, saved);
  TrainOptions train;
  train.weights = file.string();
  std::vector<float> values = initial_parameters(grey, layout, 8);
  read_pretrained(train, grey, {"a", "b", "c"}, layout, values);
  for (const auto& entry : layout.entries()) {
    for (size_t i = 0; i < entry.count; ++i)
      ASSERT_EQ(values[entry.offset + i], saved[entry.offset + i]) << entry.name;
  }
  fs::remove(file);
}

TEST(InputChannels, OnlyWhatReadsTheImagesIsSummed) {
  const std::set<std::string> names = weights_of_input(tiny(1));
  ASSERT_EQ(names.size(), 1u);
  const std::vector<float> weights{1, 2, 3, 10, 20, 30};
  std::vector<float> sums(2);
  sum_channels(weights, 3, sums.data());
  EXPECT_EQ(sums, (std::vector<float>{6, 60}));
}

}  // namespace
}  // namespace brightnet::testing
