// Quantisation of whole networks: what equalisation and bias correction do, and that the network in 8 bits computes what
// rounding its values in fp32 predicts.
#include "detect/quantization/calibrate.h"

#include <cmath>

#include "detect/inference.h"
#include "detect/quantization/fold.h"
#include "kernels/cpu/quantized_convolution.h"
#include "tests/data/loader/taken_batches.h"
#include "tests/detect/quantization/one_picture.h"
#include "tests/layers/every_layer.h"

namespace brightnet::testing {
namespace {

/// The heads' outputs for the model's picture.
std::vector<float> logits(const TrainedModel& trained, const cv::Mat& image, Precision precision,
                          LayerObserver* observer = nullptr) {
  const auto backend = make_cpu_backend();
  InferenceNetwork inference(trained, *backend, {.precision = precision, .observer = observer});
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

// Exactly, in the padding too: what is left is fp32's.
TEST(Quantization, BiasCorrectionRemovesTheShiftOfTheMean) {
  const auto backend = make_cpu_backend();
  const RealisticModel made = realistic_model(shipped_model("yolov4-tiny", 3), 96);
  const TrainedModel folded = without_batch_norm(made.trained, *backend);
  struct Means : LayerObserver {
    int layer = 0, input = 0;
    const ConvAttributes* conv = nullptr;
    InputMeans of_input;
    std::vector<double> result;
    void before_activation(int i, const Tensor& y) override {
      if (i != layer) return;
      result.assign(static_cast<size_t>(y.shape.c), 0);
      for (size_t k = 0; k < y.count(); ++k)
        result[k % result.size()] += y.as<float>()[k] / static_cast<double>(y.shape.pixels());
    }
    void output(int i, const Tensor& y) override {
      if (i == input) of_input.add(*conv, y);
    }
  };
  for (const char* name : {"neck", "conv2"}) {  // 1 x 1, and 3 x 3 of stride 2 with padding
    Means observer;
    const auto& layers = folded.model.layers;
    while (layers[static_cast<size_t>(observer.layer)].name != name) ++observer.layer;
    observer.input = layers[static_cast<size_t>(observer.layer)].inputs[0];
    observer.conv = &std::get<ConvAttributes>(layers[static_cast<size_t>(observer.layer)].attributes);
    logits(folded, made.image, Precision::fp32, &observer);
    const std::vector<double> expected = observer.result;
    const InputMeans input = observer.of_input;
    TrainedModel coarse = folded;
    const ParameterEntry &weight = *folded.layout.find(std::string(name) + ".weight"),
                         &bias = *folded.layout.find(std::string(name) + ".bias");
    const std::vector<float> scales = weight_scales(folded, observer.layer, 0.01f);
    const size_t filter = weight.count / scales.size();
    for (size_t i = 0; i < weight.count; ++i) {
      float& w = coarse.values[weight.offset + i];
      w = dequantized_weight(quantized_weight(w, scales[i / filter]), scales[i / filter]);
    }
    const auto shift = [&](const TrainedModel& trained) {
      logits(trained, made.image, Precision::fp32, &observer);
      double sum = 0;
      for (size_t c = 0; c < expected.size(); ++c) sum += std::abs(observer.result[c] - expected[c]);
      return sum;
    };
    const double before = shift(coarse);
    TrainedModel corrected = folded;
    correct_bias(corrected, observer.layer, scales, input);
    std::copy_n(corrected.values.begin() + static_cast<long>(bias.offset), bias.count,
                coarse.values.begin() + static_cast<long>(bias.offset));
    EXPECT_LT(shift(coarse), 1e-3 * before) << name;
  }
}

TrainedModel with_rounded_weights(TrainedModel trained) {
  for (size_t i = 0; i < trained.model.quantization.size(); ++i) {
    const auto& scales = trained.model.quantization[i].weight_scales;
    if (scales.empty()) continue;
    const ParameterEntry& weight = *trained.layout.find(trained.model.layers[i].name + ".weight");
    for (size_t k = 0; k < weight.count; ++k) {
      const float scale = scales[k / (weight.count / scales.size())];
      float& w = trained.values[weight.offset + k];
      w = dequantized_weight(quantized_weight(w, scale), scale);
    }
  }
  return trained;
}

/// Rounds what the 8-bit network stores in 8 bits.
class Simulation : public LayerObserver {
 public:
  Simulation(const TrainedModel& quantized, const Network& network)
      : quantized_(quantized), network_(network) {}
  void output(int layer, const Tensor& y) override {
    if (network_.stored_type(layer) != DType::u8) return;
    const QuantizedRange range = *quantized_.model.quantization[static_cast<size_t>(layer)].output;
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
  InferenceNetwork planned(quantized, *backend, {.precision = Precision::int8});
  const TrainedModel rounded = with_rounded_weights(quantized);
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
    EXPECT_EQ(quantization_refusal(calibration.quantized.model), "");
    const double error = relative_difference(logits(calibration.quantized, made.image, Precision::int8),
                                             logits(made.trained, made.image, Precision::fp32));
    EXPECT_LT(error, 0.2);
    EXPECT_GT(error, 1e-4);
  }
}

// For runtimes that know no other zero point, before activations too.
TEST(Quantization, SymmetricRangesHaveTheZeroPointOfSigned8Bits) {
  const RealisticModel made = realistic_model(every_layer_model(), 64);
  size_t outputs = 0, before = 0;
  const Calibration calibration = calibrated(made, {.symmetric = true});
  for (const LayerQuantization& layer : calibration.quantized.model.quantization) {
    outputs += layer.output.has_value();
    before += layer.before_activation.has_value();
    EXPECT_EQ(layer.output.value_or(QuantizedRange{1, 128}).zero_point, 128);
    EXPECT_EQ(layer.before_activation.value_or(QuantizedRange{1, 128}).zero_point, 128);
  }
  EXPECT_GT(outputs, 0u);
  EXPECT_GT(before, 0u);
}

// But for the biases, which are corrected for what rounded weights will do: by no more than these do.
TEST(Quantization, QuantisedWeightsServeInFloatingPointToo) {
  const RealisticModel made = realistic_model(every_layer_model(), 64);
  const std::vector<float> expected = logits(made.trained, made.image, Precision::fp32);
  const auto difference = [&](const TrainedModel& trained) {
    return relative_difference(logits(trained, made.image, Precision::fp32), expected);
  };
  const TrainedModel plain = calibrated(made, {.correct_bias = false}).quantized;
  EXPECT_LT(difference(plain), 2e-5);
  EXPECT_LT(difference(calibrated(made).quantized), difference(with_rounded_weights(plain)));
}

TEST(Quantization, TheChosenMethodIsNotWorseThanMinMax) {
  const RealisticModel made = realistic_model(every_layer_model(), 64);
  int last = 0, steps = 0;
  const Calibration calibration = calibrated(made, {.progress = [&](int done, int all) {
                                               EXPECT_EQ(done, ++last);
                                               steps = all;
                                             }});
  EXPECT_EQ(last, steps) << "the progress ends at its end";
  EXPECT_FALSE(calibration.ranges.empty());
  for (const RangeChoice& choice : calibration.ranges) EXPECT_LE(choice.error, choice.error_of_min_max);
}

/// Rounds what one layer puts out.
class RoundsOneLayer : public LayerObserver {
 public:
  int layer = -1;
  QuantizedRange range;

  void output(int of, const Tensor& y) override {
    if (of != layer) return;
    for (size_t i = 0; i < y.count(); ++i)
      y.as<float>()[i] = dequantized(quantized(y.as<float>()[i], range), range);
  }
};

// The mean over the predictions of all compared images of the squared change, weighted by the objectness of fp32.
TEST(Quantization, TheErrorOfARangeIsTheChangeOfThePredictionsThatAreObjects) {
  const RealisticModel made = realistic_model(model_of(R"(
name: chain
input: {size: 64, channels: 3}
activation: leaky
head: {anchors: [[8, 10], [14, 12]], scale_xy: 1.05}
layers:
  - conv: {name: first, filters: 8, size: 3, stride: 2}
  - conv: {name: second, filters: 16, size: 3, stride: 2}
  - conv: {name: third, filters: 16, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)",
                                                       3),
                                              64);
  Dataset pictures = OnePicture(made).dataset;
  pictures.images.push_back(pictures.images[0]);
  pictures.images[1].file = std::filesystem::path(::testing::TempDir()) / "negative_picture.png";
  cv::Mat negative;
  cv::bitwise_not(made.image, negative);
  cv::imwrite(pictures.images[1].file.string(), negative);
  const CalibrationInputs inputs(pictures, 2, made.trained.fit(), 0);
  ASSERT_EQ(inputs.count(), 2);

  const auto backend = make_cpu_backend();
  const TrainedModel folded = without_batch_norm(made.trained, *backend);
  RoundsOneLayer rounding;
  InferenceNetwork inference(folded, *backend, {.observer = &rounding});
  const int head = inference.network().layer_count() - 1;
  const auto logits_of = [&](int input, int rounded_layer) {
    rounding.layer = rounded_layer;
    inputs.infer(inference.network(), input);
    const Tensor output = inference.network().output(head);
    return std::vector<float>(output.as<float>(), output.as<float>() + output.count());
  };
  for (const int compared : {1, 8}) {
    const Calibration calibration =
        calibrate(made.trained, inputs, {.compared = compared, .equalize = false, .correct_bias = false});
    ASSERT_EQ(calibration.ranges.size(), 2u) << "what `second` and `third` read";
    for (size_t k = 0; k < calibration.ranges.size(); ++k) {
      const RangeChoice& choice = calibration.ranges[k];
      EXPECT_EQ(choice.layers, std::vector<std::string>{k == 0 ? "first" : "second"});
      rounding.range = choice.range;
      double change = 0, objects = 0;
      for (int input = 0; input < std::min(compared, 2); ++input) {
        const std::vector<float> expected = logits_of(input, -1),
                                 rounded = logits_of(input, static_cast<int>(k));
        constexpr size_t of_prediction = 4 + 1 + 3;
        for (size_t i = 0; i < expected.size(); ++i) {
          const float objectness_logit = expected[i - i % of_prediction + 4];
          const double objectness = 1 / (1 + std::exp(-static_cast<double>(objectness_logit)));
          change += objectness * std::pow(static_cast<double>(rounded[i]) - expected[i], 2);
          if (i % of_prediction == 0) objects += objectness;
        }
      }
      EXPECT_GT(choice.error, 0);
      EXPECT_NEAR(choice.error, change / objects, 1e-4 * choice.error) << compared << ' ' << k;
    }
  }
}

// The range of pixels that are moved alone is known, and no method is tried for it.
TEST(Quantization, ItsProgressEndsAtItsEndWhereAConvolutionReadsMovedPixels) {
  const RealisticModel made = realistic_model(model_of(R"(
name: pooled-image
input: {size: 64, channels: 3}
activation: leaky
head: {anchors: [[8, 10], [14, 12]], scale_xy: 1.05}
layers:
  - max_pool: {size: 2, stride: 2}
  - conv: {filters: 8, size: 3, stride: 2}
  - conv: {filters: 16, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)",
                                                       3),
                                              64);
  int last = 0, steps = 0;
  const Calibration calibration = calibrated(made, {.progress = [&](int done, int all) {
                                               last = done;
                                               steps = all;
                                             }});
  EXPECT_GT(last, 0);
  EXPECT_EQ(last, steps);
  EXPECT_EQ(calibration.quantized.model.quantization[0].output, image_range);
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

// Beside values that are much smaller than the image's, which would be cut off.
TEST(Quantization, AnImageInAConcatIsInTheRange) {
  RealisticModel made = realistic_model(model_of(R"(
name: image-in-concat
input: {size: 64, channels: 3}
activation: logistic
head: {anchors: [[8, 10], [14, 12]], scale_xy: 1.05}
layers:
  - conv: {name: small, filters: 8, size: 3}
  - concat: {name: both, from: [small, input]}
  - conv: {name: reads, filters: 16, size: 3, stride: 8, padding: 1, activation: leaky}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)",
                                                 3),
                                        64);
  for (const auto& entry : made.trained.layout.entries()) {
    const auto values = made.trained.values.begin() + static_cast<long>(entry.offset);
    if (entry.layer == 0 && entry.kind == ParameterKind::scale) std::fill_n(values, entry.count, 0.01f);
    if (entry.layer == 0 && entry.kind == ParameterKind::shift) std::fill_n(values, entry.count, -4.0f);
  }
  for (const bool symmetric : {false, true}) {
    const Calibration calibration = calibrated(made, {.symmetric = symmetric});
    const Quantization& quantization = calibration.quantized.model.quantization;
    for (const size_t layer : {0, 1}) {
      ASSERT_TRUE(quantization[layer].output) << layer;
      EXPECT_GE(quantization[layer].output->most(), 0.999f) << layer;
    }
    if (!cpu::has_int8_products()) continue;
    EXPECT_LT(relative_difference(logits(calibration.quantized, made.image, Precision::int8),
                                  logits(made.trained, made.image, Precision::fp32)),
              0.2);
  }
}

/// A scale may not be so small that the bias, in units of this scale and the input's, leaves 32 bits.
TEST(Quantization, AScaleIsOfTheGreatestWeightOrOfTheBias) {
  const auto backend = make_cpu_backend();
  const RealisticModel made = realistic_model(every_layer_model(), 64);
  TrainedModel folded = without_batch_norm(made.trained, *backend);
  const ParameterEntry &weight = *folded.layout.find("conv1.weight"),
                       &bias = *folded.layout.find("conv1.bias");
  const size_t filter = weight.count / bias.count;
  const auto set = [&](size_t channel, float weights, float of_bias) {
    std::fill_n(folded.values.begin() + static_cast<long>(weight.offset + channel * filter), filter, weights);
    folded.values[bias.offset + channel] = of_bias;
  };
  set(0, 0, 0);
  set(1, 0.001f, -1000);
  set(2, -0.5f, 1000);
  const std::vector<float> scales = weight_scales(folded, 0, 0.01f);
  ASSERT_EQ(scales.size(), bias.count);
  EXPECT_EQ(scales[0], 1) << "of nothing";
  EXPECT_FLOAT_EQ(scales[1], 1000 / (static_cast<float>(1 << 29) * 0.01f));
  EXPECT_FLOAT_EQ(scales[2], 0.5f / 127);
}

TEST(Quantization, ItsImagesAreSpreadOverTheDataSet) {
  const Dataset images = grey_dataset(test_folder(), 5);
  for (const Resize resize : {Resize::antialiased, Resize::darknet}) {
    const InputFit fit{.size = 32, .resize = resize};
    const CalibrationInputs two(images, 2, fit, 0);
    ASSERT_EQ(two.count(), 2);
    const std::vector<float> first = two.values(0), second = two.values(1);
    ASSERT_EQ(first.size(), 3u * 32 * 32);
    for (const float value : first) ASSERT_NEAR(value, 10 / 255.0f, 1e-6f);
    for (const float value : second) ASSERT_NEAR(value, 30 / 255.0f, 1e-6f) << "the third of five";
    EXPECT_EQ(CalibrationInputs(images, 9, fit, 0).count(), 5);
  }
}

}  // namespace
}  // namespace brightnet::testing
