// Which quantizations a model cannot be computed by.
#include "layers/model/quantization.h"

#include <limits>

#include <gtest/gtest.h>

#include "tests/layers/models.h"

namespace brightnet {
namespace {

/// Two convolutions whose outputs are joined, and one in 8 bits that reads them.
Model model_in_8_bits() {
  Model model = testing::model_of(R"(
head: {anchors: [[10, 12]]}
activation: mish
layers:
  - conv: {name: a, filters: 8, size: 3}
  - conv: {name: b, filters: 8, size: 3}
  - concat: {name: both, from: [a, b]}
  - conv: {name: c, filters: 8, size: 1}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
)",
                                  2);
  Quantization& quantization = model.quantization;
  quantization.resize(model.layers.size());
  quantization[0].output = quantization[1].output = quantization[2].output = QuantizedRange{0.1f, 3};
  quantization[3].output = QuantizedRange{0.05f, 8};
  quantization[3].weight_scales.assign(8, 0.01f);
  quantization[3].before_activation = QuantizedRange{0.2f, 100};
  return model;
}

TEST(QuantizationRefusal, IsEmptyWhereRangesFitTheModel) {
  EXPECT_EQ(quantization_refusal(model_in_8_bits()), "");
}

TEST(QuantizationRefusal, NamesALayerWithARangeThatIsNone) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const QuantizedRange wrong[] = {{0, 3},        {-0.1f, 3}, {std::numeric_limits<float>::quiet_NaN(), 3},
                                  {infinity, 3}, {0.1f, -1}, {0.1f, 256}};
  for (const QuantizedRange& range : wrong) {
    SCOPED_TRACE(std::to_string(range.scale) + ", " + std::to_string(range.zero_point));
    const std::string expected = "the layer 'c' has a scale or a zero point that is none";
    Model model = model_in_8_bits();
    model.quantization[3].before_activation = range;
    EXPECT_EQ(quantization_refusal(model), expected);
    model = model_in_8_bits();
    model.quantization[3].output = range;
    EXPECT_EQ(quantization_refusal(model), expected);
  }
}

TEST(QuantizationRefusal, NamesALayerWhoseRangeIsNotTheOneThatItShares) {
  for (const auto& [layer, name] : {std::pair(1, "b"), {2, "both"}}) {
    for (const QuantizedRange& other : {QuantizedRange{0.2f, 3}, {0.1f, 4}}) {
      Model model = model_in_8_bits();
      model.quantization[static_cast<size_t>(layer)].output = other;
      EXPECT_EQ(quantization_refusal(model),
                std::string("the layer '") + name + "' has another range than what it shares one with");
    }
  }
}

}  // namespace
}  // namespace brightnet
