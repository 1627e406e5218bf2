#include "kernels/math/quantization.h"
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

const QuantizedRange ranges[] = {{0.02f, 0}, {0.013f, 23}, {0.05f, 128}, {0.1f, 255}};

/// Values within the range and beyond either end, none nearer to where rounding changes than a hundredth of a step.
void spread_over_range(OwnedTensor& x, const QuantizedRange& range) {
  Random random(5, Purpose::test);
  for (size_t i = 0; i < x.count(); ++i) {
    const double q = std::floor(random.uniform(-100, 355)) - range.zero_point;
    x.set(i, (q + random.uniform(-0.49f, 0.49f)) * range.scale);
  }
}

double clamped(double x, const QuantizedRange& range) {
  return std::clamp(x, -(range.zero_point + 0.5) * range.scale, (255.5 - range.zero_point) * range.scale);
}

TEST(FakeQuantize, RoundsToTheNearestValueOfTheRange) {
  for (const QuantizedRange& range : ranges) {
    for (const Shape& shape : odd_shapes()) {
      OwnedTensor x(shape), y(shape);
      spread_over_range(x, range);
      std::vector<double> expected = x.values();
      for (double& value : expected) {
        const double q = std::clamp(std::round(value / range.scale) + range.zero_point, 0.0, 255.0);
        value = (q - range.zero_point) * range.scale;
      }
      device().fake_quantize(*x, range, *y);
      expect_near(y, expected, 1e-6, 0);
      device().fake_quantize(*y, range, *x);
      EXPECT_EQ(x.values(), y.values()) << "what is rounded stays";
    }
  }
}

// Of rounding, what is left when its steps are seen from afar: a straight line with two ends.
TEST(FakeQuantize, TheGradientIsThatOfAStraightLineWithTheRangesEnds) {
  for (const QuantizedRange& range : ranges) {
    for (const Shape& shape : odd_shapes()) {
      OwnedTensor x(shape), dy(shape);
      spread_over_range(x, range);
      dy.randomize(4);
      std::vector<double> expected = dy.values();
      const double step = 1e-3 * range.scale;
      size_t cleared = 0;
      for (size_t i = 0; i < expected.size(); ++i) {
        const double slope = (clamped(x[i] + step, range) - clamped(x[i] - step, range)) / (2 * step);
        cleared += slope < 0.5;
        expected[i] *= std::round(slope);
      }
      EXPECT_TRUE(cleared > 0 && cleared < expected.size());
      device().fake_quantize_backward(*x, range, *dy);
      expect_near(dy, expected, 0, 0);
    }
  }
}

TEST(FakeQuantize, WeightsAreRoundedByTheScaleOfTheirOutput) {
  constexpr size_t outputs = 5, each = 27;
  OwnedTensor w({1, 1, 1, outputs * each}), y({1, 1, 1, outputs * each}), scales({1, 1, 1, outputs});
  w.randomize(1);
  for (size_t o = 0; o < outputs; ++o) scales.set(o, 0.003 * static_cast<double>(1 + o));
  std::vector<double> expected = w.values();
  for (size_t i = 0; i < expected.size(); ++i) {
    const double scale = scales[i / each];
    expected[i] = std::clamp(std::nearbyint(expected[i] / scale), -127.0, 127.0) * scale;
  }
  device().fake_quantize_weights(w.floats(), scales.floats(), outputs, each, y.floats());
  expect_near(y, expected, 1e-6, 0);
}

TEST(FakeQuantize, RefusesUnlikeTensors) {
  const OwnedTensor x({1, 2, 2, 8}), y({1, 2, 2, 8}, DType::bf16);
  EXPECT_THROW(device().fake_quantize(*x, ranges[0], *y), std::logic_error);
  EXPECT_THROW(device().fake_quantize_backward(*x, ranges[0], *y), std::logic_error);
}

}  // namespace
}  // namespace brightnet::testing
