// Quantisation of whole networks: what equalisation and bias correction do, and that the network in 8 bits computes what
// rounding its values in fp32 predicts.
#include "detect/quantization/calibrate.h"

#include <cmath>

#include "detect/inference.h"
#include "detect/quantization/fold.h"
#include "kernels/cpu/quantized_convolution.h"
#include "tests/detect/quantization/one_picture.h"
#include "tests/layers/every_layer.h"

namespace brightnet::testing {
namespace {

/// The heads' outputs for the model's picture.
std::vector<float> logits(const TrainedModel& trained, const cv::Mat& image, Precision precision,
                          LayerObserver* observer = nullptr) {
  const auto backend = make_cpu_backend();
  InferenceNetwork inference(trained, *backend, precision, 1, {}, false, observer);
  inference.network().set_pixels(image.data);
  inference.network().infer();
  std::vector<float> all;
  for (int i = 0; i < inference.network().layer_count(); ++i) {
    if (!is_head(trained.model.layers[static_cast<size_t>(i)])) continue;
    const Tensor head = inference.network().output(i);
    all.insert(all.end(), head.as<float>(), head.as<float>() + head.count());
  }
  return all;
}

double norm(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::pow(a[i] - b[i], 2);
  return std::sqrt(sum);
}

double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  return norm(a, b) / norm(b, std::vector<float>(b.size()));
}

Calibration calibrated(const RealisticModel& made, const CalibrationOptions& options = {}) {
  return calibrate(made.trained, OnePicture(made).inputs(made), options);
}

TEST(Quantization, FoldingAndEqualisingLeaveWhatIsComputed) {
  for (const RealisticModel& made :
       {realistic_model(shipped_model("yolov4-tiny", 3), 96), realistic_model(every_layer_model(), 64)}) {
    const auto backend = make_cpu_backend();
    const std::vector<float> expected = logits(made.trained, made.image, Precision::fp32);
    TrainedModel folded = without_batch_norm(made.trained, *backend);
    EXPECT_LT(relative_difference(logits(folded, made.image, Precision::fp32), expected), 1e-5);
    const std::vector<float> before = folded.values;
    EXPECT_GT(equalize(folded), 0);
    EXPECT_GT(norm(folded.values, before), 0.1) << "equalisation changed nothing";
    EXPECT_LT(relative_difference(logits(folded, made.image, Precision::fp32), expected), 2e-5);
  }
}

TEST(Quantization, EqualisedChannelsHaveTheSameRangeInBothConvolutions) {
  const auto backend = make_cpu_backend();
  const RealisticModel made = realistic_model(shipped_model("yolov4-tiny", 3), 96);
  TrainedModel folded = without_batch_norm(made.trained, *backend);
  equalize(folded);
  // conv1 (32 channels) is read by conv2 alone. OHWI.
  const ParameterEntry &first = *folded.layout.find("conv1.weight"),
                       &second = *folded.layout.find("conv2.weight");
  const auto channels = static_cast<size_t>(first.shape[0]);
  for (size_t c = 0; c < channels; ++c) {
    float r1 = 0, r2 = 0;
    for (size_t i = 0; i < first.count / channels; ++i)
      r1 = std::max(r1, std::abs(folded.values[first.offset + c * first.count / channels + i]));
    for (size_t i = c; i < second.count; i += channels)
      r2 = std::max(r2, std::abs(folded.values[second.offset + i]));
    EXPECT_NEAR(r1, r2, 2e-3f * r1) << c;
  }
}

TEST(Quantization, BiasCorrectionRemovesTheShiftOfTheMean) {
  const auto backend = make_cpu_backend();
  const RealisticModel made = realistic_model(shipped_model("yolov4-tiny", 3), 96);
  const TrainedModel folded = without_batch_norm(made.trained, *backend);
  // neck is a convolution of 1 x 1, without padding. Its mean result per channel with rounded weights, before and after, against that without.
  const int layer = static_cast<int>(std::find_if(folded.model.layers.begin(), folded.model.layers.end(),
                                                  [](const auto& l) { return l.name == "neck"; }) -
                                     folded.model.layers.begin());
  struct Means : LayerObserver {
    int layer = 0, input = 0;
    std::vector<double> of_input, result;
    static std::vector<double> means(const Tensor& y) {
      std::vector<double> means(static_cast<size_t>(y.shape.c));
      for (size_t i = 0; i < y.count(); ++i)
        means[i % means.size()] += y.as<float>()[i] / static_cast<double>(y.shape.pixels());
      return means;
    }
    void before_activation(int i, const Tensor& y) override {
      if (i == layer) result = means(y);
    }
    void output(int i, const Tensor& y) override {
      if (i == input) of_input = means(y);
    }
  };
  Means observer;
  observer.layer = layer;
  observer.input = folded.model.layers[static_cast<size_t>(layer)].inputs[0];
  logits(folded, made.image, Precision::fp32, &observer);
  const std::vector<double> expected = observer.result, input = observer.of_input;
  TrainedModel coarse = folded;
  const ParameterEntry& weight = *folded.layout.find("neck.weight");
  const std::vector<float> scales = weight_scales(folded, layer, 0.01f);
  const size_t filter = weight.count / scales.size();
  const auto rounded = [&](float w, float scale) {
    return static_cast<float>(quantized_weight(w, scale)) * scale;
  };
  for (size_t i = 0; i < weight.count; ++i)
    coarse.values[weight.offset + i] = rounded(folded.values[weight.offset + i], scales[i / filter]);
  const auto shift = [&](const TrainedModel& trained) {
    logits(trained, made.image, Precision::fp32, &observer);
    double sum = 0;
    for (size_t c = 0; c < expected.size(); ++c) sum += std::abs(observer.result[c] - expected[c]);
    return sum;
  };
  const double before = shift(coarse);
  TrainedModel corrected = folded;
  correct_bias(corrected, layer, scales, input);
  const ParameterEntry& bias = *folded.layout.find("neck.bias");
  std::copy_n(corrected.values.begin() + static_cast<long>(bias.offset), bias.count,
              coarse.values.begin() + static_cast<long>(bias.offset));
  EXPECT_LT(shift(coarse), 0.02 * before);
}

/// Rounds what the 8-bit network stores in 8 bits.
class Simulation : public LayerObserver {
 public:
  Simulation(const TrainedModel& quantized, const Network& network)
      : quantized_(quantized), network_(network) {}
  void output(int layer, const Tensor& y) override {
    if (network_.stored_type(layer) != DType::u8) return;
    const QuantizedRange range = *quantized_.quantization[static_cast<size_t>(layer)].output;
    for (size_t i = 0; i < y.count(); ++i)
      y.as<float>()[i] = dequantized(quantized(y.as<float>()[i], range), range);
  }

 private:
  const TrainedModel& quantized_;
  const Network& network_;
};

TEST(Quantization, TheNetworkIn8BitsComputesWhatRoundingPredicts) {
  if (!cpu::has_int8_products()) GTEST_SKIP() << "this CPU does not sum 8-bit products exactly";
  const RealisticModel made = realistic_model(shipped_model("yolov4-tiny", 3), 96);
  const TrainedModel quantized = calibrated(made).quantized;
  const auto backend = make_cpu_backend();
  InferenceNetwork planned(quantized, *backend, Precision::int8, 1, {});
  TrainedModel rounded = quantized;
  for (size_t i = 0; i < quantized.quantization.size(); ++i) {
    const auto& scales = quantized.quantization[i].weight_scales;
    if (scales.empty()) continue;
    const ParameterEntry& weight = *quantized.layout.find(quantized.model.layers[i].name + ".weight");
    for (size_t k = 0; k < weight.count; ++k) {
      const float scale = scales[k / (weight.count / scales.size())];
      float& w = rounded.values[weight.offset + k];
      w = static_cast<float>(quantized_weight(w, scale)) * scale;
    }
  }
  Simulation simulation(quantized, planned.network());
  const std::vector<float> expected = logits(rounded, made.image, Precision::fp32, &simulation),
                           fp32 = logits(made.trained, made.image, Precision::fp32),
                           found = logits(quantized, made.image, Precision::int8);
  const double error = relative_difference(expected, fp32);
  EXPECT_GT(error, 1e-3) << "nothing was rounded";
  EXPECT_LT(error, 0.1);
  // Values in the middle between two steps may be rounded either way.
  EXPECT_LT(relative_difference(found, expected), 0.5 * error);
  // The image itself is stored as it is, and all but what predicting layers read.
  EXPECT_EQ(planned.network().stored_type(network_input), DType::u8);
  const int predicts = planned.network().layer_count() - 2;
  EXPECT_EQ(planned.network().stored_type(predicts), DType::f32);
  EXPECT_EQ(planned.network().stored_type(predicts - 1), DType::f32);
  EXPECT_EQ(planned.network().stored_type(predicts - 2), DType::u8);
}

TEST(Quantization, EveryKindOfLayerStandsBetween8BitConvolutions) {
  if (!cpu::has_int8_products()) GTEST_SKIP() << "this CPU does not sum 8-bit products exactly";
  const RealisticModel made = realistic_model(every_layer_model(), 64);
  for (const bool symmetric : {false, true}) {
    const Calibration calibration = calibrated(made, {.symmetric = symmetric});
    EXPECT_EQ(quantization_refusal(calibration.quantized.model, calibration.quantized.quantization), "");
    const double error = relative_difference(logits(calibration.quantized, made.image, Precision::int8),
                                             logits(made.trained, made.image, Precision::fp32));
    EXPECT_LT(error, 0.2);
    EXPECT_GT(error, 1e-4);
    // Quantised weights serve in floating point too.
    EXPECT_LT(relative_difference(logits(calibration.quantized, made.image, Precision::fp32),
                                  logits(made.trained, made.image, Precision::fp32)),
              0.05)
        << "but for the biases, which are corrected for what 8 bits will do";
  }
}

TEST(Quantization, TheChosenMethodIsNotWorseThanMinMax) {
  const RealisticModel made = realistic_model(every_layer_model(), 64);
  const Calibration calibration = calibrated(made);
  EXPECT_FALSE(calibration.ranges.empty());
  for (const RangeChoice& choice : calibration.ranges) EXPECT_LE(choice.error, choice.error_of_min_max);
}

TEST(Quantization, AConcatsInputsShareARange) {
  const Model model = shipped_model("yolov4-tiny", 3);
  const std::vector<int> ranges = shared_ranges(model);
  const auto of = [&](const std::string& name) {
    for (size_t i = 0; i < model.layers.size(); ++i) {
      if (model.layers[i].name == name) return ranges[i + 1];
    }
    return -1;
  };
  EXPECT_EQ(of("stage1.a"), of("stage1.b"));
  EXPECT_EQ(of("stage1.in"), of("stage1.merge"));
  EXPECT_NE(of("stage1.in"), of("stage1.a"));
  EXPECT_EQ(of("up16"), of("stage3.merge"));
}

}  // namespace
}  // namespace brightnet::testing
