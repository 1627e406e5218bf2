// Which layers go back to floating point, by the accuracy that they lose and the speed that they bring.
#include "detect/quantization/sensitivity.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/quantized_convolution.h"
#include "tests/detect/quantization/one_picture.h"
#include "tests/layers/every_layer.h"

namespace brightnet::testing {
namespace {

// With an AP that is told: the second of the quantised layers costs two points, the third a tenth of one.
TEST(Quantization, LayersThatLoseTooMuchStayInFloatingPoint) {
  if (!cpu::has_int8_products()) GTEST_SKIP() << "this CPU does not sum 8-bit products exactly";
  const RealisticModel made = realistic_model(every_layer_model(), 64);
  const CalibrationInputs inputs = OnePicture(made).inputs(made);
  const Calibration whole = calibrate(made.trained, inputs, {});
  const auto is_quantized = [](const LayerQuantization& layer) { return !layer.weight_scales.empty(); };
  std::vector<size_t> places;
  for (size_t i = 0; i < whole.quantized.model.quantization.size(); ++i) {
    if (is_quantized(whole.quantized.model.quantization[i])) places.push_back(i);
  }
  ASSERT_GT(places.size(), 3u);
  const auto evaluate = [&](const Quantization& quantization) {
    if (quantization.empty()) return 0.5;
    return 0.5 - (is_quantized(quantization[places[1]]) ? 0.02 : 0) -
           (is_quantized(quantization[places[2]]) ? 0.001 : 0);
  };
  const auto kept_with = [&](double max_loss) {
    Calibration calibration = whole;
    const Sensitivity found = keep_sensitive_layers(calibration, max_loss, inputs, evaluate);
    EXPECT_EQ(found.AP_float, 0.5);
    EXPECT_EQ(found.AP_quantized, evaluate(calibration.quantized.model.quantization));
    EXPECT_GT(found.images_per_s_float, 0);
    EXPECT_GT(found.images_per_s_quantized, 0);
    EXPECT_EQ(found.layers.size(), places.size());
    std::vector<size_t> kept;
    for (size_t k = 0; k < found.layers.size(); ++k) {
      const LayerQuantization& layer = calibration.quantized.model.quantization[places[k]];
      EXPECT_EQ(found.layers[k].name, made.trained.model.layers[places[k]].name);
      EXPECT_NEAR(found.layers[k].AP_lost, k == 1 ? 2 : k == 2 ? 0.1 : 0, 1e-9) << k;
      EXPECT_EQ(found.layers[k].stays_float, !is_quantized(layer)) << k;
      EXPECT_FALSE(found.layers[k].stays_float && layer.before_activation) << k;
      if (found.layers[k].stays_float) kept.push_back(k);
    }
    return kept;
  };
  EXPECT_EQ(kept_with(3), std::vector<size_t>{});
  const std::vector<size_t> some = kept_with(1);
  EXPECT_TRUE(std::find(some.begin(), some.end(), 1u) != some.end()) << "whichever was the first";
  EXPECT_EQ(kept_with(0), (std::vector<size_t>{1, 2})) << "the others lose nothing";
}

/// A network of convolutions that take very different times.
class SensitivityOfUnevenLayers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::has_int8_products()) GTEST_SKIP() << "this CPU does not sum 8-bit products exactly";
  }

  /// An AP of 0.5 in fp32, of which each of these layers loses a hundredth in 8 bits; none named: every one.
  EvaluateAP losing(const std::vector<std::string>& names = {}) const {
    return [this, names](const Quantization& quantization) {
      double ap = 0.5;
      for (size_t i = 0; i < quantization.size(); ++i) {
        const std::string& name = made_.trained.model.layers[i].name;
        const bool loses = names.empty() || std::find(names.begin(), names.end(), name) != names.end();
        if (loses && !quantization[i].weight_scales.empty()) ap -= 0.01;
      }
      return ap;
    };
  }

  const RealisticModel made_ = realistic_model(model_of(R"(
name: uneven
input: {size: 64, channels: 3}
activation: leaky
head: {anchors: [[8, 10], [14, 12]], scale_xy: 1.05}
layers:
  - conv: {name: first, filters: 32, size: 3, stride: 2}
  - conv: {name: large, filters: 64, size: 3}
  - conv: {name: larger, filters: 64, size: 3}
  - conv: {name: small, filters: 16, size: 1}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)",
                                                        3),
                                               64);
  const CalibrationInputs inputs_ = OnePicture(made_).inputs(made_);
  const Calibration whole_ = calibrate(made_.trained, inputs_, {});
};

TEST_F(SensitivityOfUnevenLayers, OfLayersThatLoseTheSameTheOneThatGainsLeastGoesBack) {
  Calibration calibration = whole_;
  const Sensitivity found = keep_sensitive_layers(calibration, 3.5, inputs_, losing());
  ASSERT_EQ(found.layers.size(), 4u);
  EXPECT_NEAR(found.AP_quantized, 0.47, 1e-9) << "three of four points are lost";
  // A gain of nothing, or a loss of speed, is as little as can be.
  const auto gained = [](const LayerSensitivity& layer) { return std::max(layer.images_gained, 1e-3); };
  int back = 0;
  for (const LayerSensitivity& layer : found.layers) {
    EXPECT_NEAR(layer.AP_lost, 1, 1e-9) << layer.name;
    if (!layer.stays_float) continue;
    ++back;
    for (const LayerSensitivity& other : found.layers)
      EXPECT_LE(gained(layer), gained(other)) << layer.name << " in place of " << other.name;
  }
  EXPECT_EQ(back, 1);
}

// Together layers lose what none loses alone.
TEST_F(SensitivityOfUnevenLayers, LayersGoBackThatLoseTogether) {
  const auto losing_together = [this](const std::vector<std::string>& names) -> EvaluateAP {
    return [this, alone = losing(names)](const Quantization& quantization) {
      return alone(quantization) < 0.485 ? 0.48 : 0.5;  // two of them, or more
    };
  };
  Calibration pair = whole_, all = whole_;
  const Sensitivity of_pair = keep_sensitive_layers(pair, 0, inputs_, losing_together({"large", "larger"}));
  EXPECT_EQ(of_pair.AP_quantized, 0.5);
  int back = 0;
  for (const LayerSensitivity& layer : of_pair.layers) {
    back += layer.stays_float ? 1 : 0;
    EXPECT_NEAR(layer.AP_lost, 0, 1e-9) << layer.name;
    EXPECT_FALSE(layer.stays_float && !layer.name.starts_with("large")) << layer.name;
  }
  EXPECT_EQ(back, 1) << "and none that has no part in it";
  // Where each without one of them loses as much, the slowest go first.
  const Sensitivity of_all = keep_sensitive_layers(all, 0, inputs_, losing_together({}));
  EXPECT_EQ(of_all.AP_quantized, 0.5);
  std::vector<double> left;
  double most = -1e9;
  for (const LayerSensitivity& layer : of_all.layers) {
    if (!layer.stays_float) left.push_back(layer.images_gained);
    most = std::max(most, layer.images_gained);
  }
  EXPECT_EQ(left, std::vector<double>{most});
}

TEST_F(SensitivityOfUnevenLayers, LayersThatGoBackHaveTheirBiasesAgain) {
  const Calibration uncorrected = calibrate(made_.trained, inputs_, {.correct_bias = false});
  ASSERT_NE(whole_.quantized.values, uncorrected.quantized.values);
  Calibration calibration = whole_;
  const Sensitivity found = keep_sensitive_layers(calibration, 0, inputs_, losing());
  for (const LayerSensitivity& layer : found.layers) EXPECT_TRUE(layer.stays_float) << layer.name;
  EXPECT_EQ(calibration.quantized.values, uncorrected.quantized.values);
}

TEST_F(SensitivityOfUnevenLayers, MoreThanAllowedIsLostOnlyInAnError) {
  Calibration calibration = whole_;
  const auto evaluate = [](const Quantization& quantization) { return quantization.empty() ? 0.5 : 0.48; };
  EXPECT_NO_THROW(keep_sensitive_layers(calibration, 2.5, inputs_, evaluate));
  calibration = whole_;
  EXPECT_THROW(keep_sensitive_layers(calibration, 1, inputs_, evaluate), InputError);
}

// Without the layers that bring the speed it is near that of fp32. Times are measured, and another program may disturb them:
// once of several times is enough.
TEST_F(SensitivityOfUnevenLayers, TheSpeedIn8BitsIsThatOfTheLayersThatStayInThem) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    Calibration calibration = whole_;
    const Sensitivity found =
        keep_sensitive_layers(calibration, 0, inputs_, losing({"first", "large", "larger"}));
    double seconds = 1 / found.images_per_s_float;
    for (const LayerSensitivity& layer : found.layers) {
      EXPECT_EQ(layer.stays_float, layer.name != "small") << layer.name;
      seconds -= 1 / found.images_per_s_float - 1 / (found.images_per_s_float + layer.images_gained);
    }
    const double all_in_8_bits = 1 / seconds;
    if (all_in_8_bits < 1.3 * found.images_per_s_float) continue;  // nothing to tell them apart by
    if (found.images_per_s_quantized < std::sqrt(found.images_per_s_float * all_in_8_bits)) return;
    if (attempt == 4) {
      ADD_FAILURE() << found.images_per_s_quantized << " images/s; in fp32 " << found.images_per_s_float
                    << ", with all layers in 8 bits " << all_in_8_bits;
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
