// Where the windows of a layer begin; tests/kernels/operations/average_pool_test.cpp has the means.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/layers/models.h"

namespace brightnet {
namespace {

/// What the first two layers compute.
struct PooledOutputs : LayerObserver {
  std::vector<float> values[2];
  Shape shapes[2];
  void output(int layer, const Tensor& y) override {
    if (layer > 1) return;
    values[layer].assign(y.as<float>(), y.as<float>() + y.count());
    shapes[layer] = y.shape;
  }
};

/// By a network whose second layer is the pool.
PooledOutputs pooled(const std::string& pool) {
  const auto backend = make_cpu_backend();
  const Model model = testing::model_of(R"(
head: {anchors: [[10, 12]]}
layers:
  - conv: {filters: 8, size: 1}
  - average_pool: )" + pool + R"(
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
)",
                                        2);
  const ParameterLayout layout(model);
  std::vector<float> values = initial_parameters(model, layout, 1);
  const Parameters parameters{.layout = &layout, .values = values.data()};
  PooledOutputs outputs;
  NetworkSetup setup{.model = &model, .backend = backend.get(), .parameters = &parameters};
  setup.height = 8;
  setup.width = 12;
  setup.mode = Mode::infer;
  setup.observer = &outputs;
  Network network(setup);
  const DeviceBuffer arena(*backend, network.memory().arena());
  network.bind(arena.data());
  Random random(4, Purpose::test);
  std::vector<uint8_t> pixels(size_t{8} * 12 * 3);
  for (auto& pixel : pixels) pixel = static_cast<uint8_t>(random.below(256));
  network.set_pixels(pixels.data());
  network.infer();
  return outputs;
}

/// Each window begins `before` pixels before its multiple of the stride; what lies outside of the map does not count.
void expect_means(const PooledOutputs& outputs, int size, int stride, int before) {
  const Shape &x = outputs.shapes[0], &y = outputs.shapes[1];
  ASSERT_EQ(y, (Shape{1, (x.h - 1) / stride + 1, (x.w - 1) / stride + 1, x.c}));
  for (int row = 0; row < y.h; ++row) {
    for (int column = 0; column < y.w; ++column) {
      const int top = row * stride - before, left = column * stride - before;
      for (int channel = 0; channel < y.c; ++channel) {
        double sum = 0, count = 0;
        for (int i = std::max(top, 0); i < std::min(top + size, x.h); ++i) {
          for (int j = std::max(left, 0); j < std::min(left + size, x.w); ++j, ++count)
            sum += outputs.values[0][static_cast<size_t>((i * x.w + j) * x.c + channel)];
        }
        ASSERT_NEAR(outputs.values[1][static_cast<size_t>((row * y.w + column) * y.c + channel)], sum / count,
                    1e-5)
            << row << ' ' << column;
      }
    }
  }
}

TEST(AveragePoolLayer, AnEvenWindowReachesFurtherBehindItsPixelThanBefore) {
  expect_means(pooled("{size: 2, stride: 2}"), 2, 2, 0);
  expect_means(pooled("{size: 2, stride: 1}"), 2, 1, 0);
  expect_means(pooled("{size: 4, stride: 2}"), 4, 2, 1);
}

TEST(AveragePoolLayer, AnOddWindowIsAroundItsPixel) {
  expect_means(pooled("{size: 3, stride: 1}"), 3, 1, 1);
}

}  // namespace
}  // namespace brightnet
