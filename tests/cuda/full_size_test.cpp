// Every operation on tensors as large as yolov4's largest layer (tests/cuda/full_size.h).
#include "tests/cuda/full_size.h"

namespace brightnet::testing {
namespace {

/// What varies from layer to layer: vectors of four, of eight, and none.
struct Elements {
  DType type;
  int channels;
};
constexpr Elements all_elements[] = {{DType::f32, 32}, {DType::f16, 64}, {DType::f32, 31}};

class FullSize : public ::testing::TestWithParam<Elements> {
 protected:
  void SetUp() override { SKIP_WITHOUT_ROOM(); }
  DType type() const { return GetParam().type; }
  Shape image(int shrunk = 1, int widened = 1) const {
    const int side = full_extent().side / shrunk;
    return {1, side, side, GetParam().channels * widened};
  }
  Images random(int images, uint64_t seed, int shrunk = 1) const {
    return {images, image(shrunk), type(), seed};
  }
  Images zeros(int images, int shrunk = 1) const { return {images, image(shrunk), type()}; }
};

INSTANTIATE_TEST_SUITE_P(Layers, FullSize, ::testing::ValuesIn(all_elements), [](const auto& layer) {
  return std::string(enum_name(layer.param.type)) + "of" + std::to_string(layer.param.channels);
});

TEST_P(FullSize, ElementByElement) {
  expect_the_same_of_every_image([&](int n) {
    Images a = random(n, 1), b = random(n, 2);
    device().add(*a, *b, *a);
    device().multiply(*a, *b, *a, true);
    device().activation_forward(Activation::mish, *a, *b);
    device().activation_backward(Activation::leaky, *b, *a);
    return a;
  });
}

TEST_P(FullSize, Casts) {
  const DType other = type() == DType::f32 ? DType::f16 : DType::f32;
  expect_the_same_of_every_image([&](int n) {
    const Images a = random(n, 1);
    Images b(n, image(), other);
    device().cast(*a, *b);
    return b;
  });
}

TEST_P(FullSize, PixelsAreNormalised) {
  expect_the_same_of_every_image([&](int n) {
    const Images pixels(n, image(), DType::u8, 1);
    Images x = zeros(n);
    device().normalize_image(*pixels, *x);
    return x;
  });
}

TEST_P(FullSize, ChannelsAreCopiedAndScaled) {
  const int channels = GetParam().channels, half = channels / 2;
  expect_the_same_of_every_image([&](int n) {
    const Images a = random(n, 1), factors(1, {1, 1, 1, channels}, DType::f32, 3);
    Images b = random(n, 2);
    device().copy_channels(*a, 0, *b, channels - half, half, false);
    device().copy_channels(*a, half, *b, 0, half, true);
    device().scale_channels(*b, *factors, *b, false);
    device().scale_channels(*a, *factors, *b, true);
    return b;
  });
}

TEST_P(FullSize, ProductsOfChannels) {
  expect_the_same_of_every_image(
      [&](int n) {
        const Images a = random(n, 1), b = random(n, 2);
        Images sums(n, {1, 1, 1, GetParam().channels}, DType::f32);
        device().channel_products(*a, *b, *sums);
        return sums;
      },
      1e-4);
}

TEST_P(FullSize, Upsampling) {
  expect_the_same_of_every_image([&](int n) {
    const Images x = random(n, 1, 2);
    Images y = zeros(n);
    device().upsample_forward(2, *x, *y);
    return y;
  });
  expect_the_same_of_every_image([&](int n) {
    const Images dy = random(n, 1);
    Images dx = random(n, 2, 2);
    device().upsample_backward(2, *dy, *dx, true);
    return dx;
  });
}

TEST_P(FullSize, SpaceToDepth) {
  expect_the_same_of_every_image([&](int n) {
    const Images x = random(n, 1);
    Images y(n, image(2, 4), type());
    device().space_to_depth(2, *x, *y);
    return y;
  });
  expect_the_same_of_every_image([&](int n) {
    const Images dy(n, image(2, 4), type(), 1);
    Images dx = random(n, 2);
    device().space_to_depth_backward(2, *dy, *dx, true);
    return dx;
  });
}

TEST_P(FullSize, MaxPools) {
  for (const PoolSpec pool : {PoolSpec{2, 2, 0}, PoolSpec{3, 1, 2}, PoolSpec{3, 2, 1}, PoolSpec{5, 1, 4}}) {
    SCOPED_TRACE("a window of " + std::to_string(pool.window));
    expect_the_same_of_every_image([&](int n) {
      const Images x = random(n, 1), argmax(n, image(pool.stride), DType::u8);
      Images y = zeros(n, pool.stride);
      device().max_pool_forward(pool, *x, *y, *argmax);
      return y;
    });
    expect_the_same_of_every_image([&](int n) {
      Images x = random(n, 1);
      const Images y = zeros(n, pool.stride), argmax(n, image(pool.stride), DType::u8);
      device().max_pool_forward(pool, *x, *y, *argmax);
      device().max_pool_backward(pool, *y, *argmax, *x, true);
      return x;
    });
  }
}

TEST_P(FullSize, AveragePools) {
  const AveragePool pool{3, 3, 2, 1};
  expect_the_same_of_every_image([&](int n) {
    Images x = random(n, 1);
    const Images y = zeros(n, 2);
    device().average_pool_forward(pool, *x, *y);
    device().average_pool_backward(pool, *y, *x, true);
    return x;
  });
}

// Five times as many channels as its input has.
TEST_P(FullSize, SpatialPyramids) {
  const std::vector<int> windows{13, 9, 5};
  const int side = full_extent().side;
  const Shape part{1, side, side, (GetParam().channels + 3) / 4}, whole{1, side, side, 4 * part.c};
  expect_the_same_of_every_image([&](int n) {
    Images x(n, part, type(), 1);
    const Images y(n, whole, type());
    const Images argmax[] = {{n, part, DType::u8}, {n, part, DType::u8}, {n, part, DType::u8}};
    const Tensor places[] = {*argmax[0], *argmax[1], *argmax[2]};
    device().spatial_pyramid_forward(windows, *x, *y, places, nullptr);
    device().spatial_pyramid_backward(windows, *y, places, *x, true, nullptr);
    return x;
  });
}

/// Batch-norm's vectors of so many channels, and its arguments with them.
class Norm {
 public:
  Norm(const Tensor& y, int channels)
      : channels_(channels),
        vectors_(8, {1, 1, 1, channels}, DType::f32, 3),
        workspace_(device(), device().channel_workspace(y.shape)) {}

  BatchNormForward forward(const Tensor& y, const Tensor& z) const {
    BatchNormForward op{.y = y, .z = z};
    op.scale = row(0);
    op.shift = row(1);
    op.running_mean = row(2);
    op.running_variance = row(3);
    op.mean = row(4);
    op.inverse_std = row(5);
    op.activation = Activation::mish;
    op.workspace = workspace_.data();
    return op;
  }
  BatchNormBackward backward(const Tensor& y, const Tensor& dz, const Tensor& dy) const {
    BatchNormBackward op{.y = y, .dz = dz, .dy = dy};
    op.scale = row(0);
    op.shift = row(1);
    op.mean = row(4);
    op.inverse_std = row(5);
    op.scale_gradient = row(6);
    op.shift_gradient = row(7);
    op.accumulate = false;
    op.activation = Activation::mish;
    op.workspace = workspace_.data();
    return op;
  }

 private:
  float* row(int which) const { return (*vectors_).as<float>() + which * channels_; }

  int channels_;
  Images vectors_;
  DeviceBuffer workspace_;
};

/// Sums over 64 times as many pixels are rounded elsewhere.
TEST_P(FullSize, BatchNormBothWays) {
  for (const bool backward : {false, true}) {
    SCOPED_TRACE(backward ? "backward" : "forward");
    const auto pass = [&](int n) {
      const Images y = random(n, 1);
      Images z = zeros(n), gradient = random(n, 2);
      const Norm norm(*y, GetParam().channels);
      device().batch_norm_forward(norm.forward(*y, *z));
      if (!backward) return z;
      device().batch_norm_backward(norm.backward(*y, *gradient, *gradient));
      return gradient;
    };
    expect_the_same_of_every_image(pass, type() == DType::f16 ? 2e-3 : 2e-5);
  }
}

// The second half of a tensor's channels, with a convolution's sums and a shortcut's addend.
TEST_P(FullSize, BatchNormOfASliceWithSumsAndAShortcut) {
  const int channels = GetParam().channels, count = channels / 2, first = channels - count;
  const int side = full_extent().side;
  const Shape part{1, side, side, count};
  for (const bool backward : {false, true}) {
    SCOPED_TRACE(backward ? "backward" : "forward");
    const auto pass = [&](int n) {
      const Images whole = random(n, 1), addend(n, part, type(), 4), gradient(n, part, type(), 2);
      Images z(n, part, type());
      const Norm norm(*whole, count);
      // Of normal numbers around 0.1, whichever the tensor's are.
      std::vector<float> host(static_cast<size_t>(2 * channels));
      for (size_t i = 0; i < host.size(); ++i)
        host[i] = (i < host.size() / 2 ? 0.1f : 1.0f) * static_cast<float>(n * side * side);
      const DeviceBuffer sums(device(), host.size() * sizeof(float));
      device().upload(sums.data(), host.data(), sums.bytes());
      const Tensor y = slice_channels(*whole, first, count);
      BatchNormForward forward = norm.forward(y, *z);
      forward.addend = *addend;
      forward.sums = sums.floats() + first;
      forward.sums_pitch = channels;
      device().batch_norm_forward(forward);
      if (!backward) return z;
      device().batch_norm_backward(norm.backward(y, *gradient, y));
      // What was written into the slice, and the other channels untouched.
      Images result = zeros(n);
      device().copy_channels(*whole, 0, *result, 0, channels, false);
      return result;
    };
    expect_the_same_of_every_image(pass, type() == DType::f16 ? 2e-3 : 2e-5);
  }
}

// Sums that say that every channel is far from zero: each is read again, and its statistics are those of y.
TEST_P(FullSize, BatchNormOfChannelsThatAreReadAgain) {
  const int channels = GetParam().channels;
  expect_the_same_of_every_image(
      [&](int n) {
        const Images y = random(n, 1);
        Images z = zeros(n);
        const Norm norm(*y, channels);
        const double pixels = static_cast<double>((*y).shape.pixels());
        std::vector<float> host(static_cast<size_t>(2 * channels), static_cast<float>(100 * pixels));
        for (int c = channels; c < 2 * channels; ++c) host[c] = static_cast<float>(10001 * pixels);
        const DeviceBuffer sums(device(), host.size() * sizeof(float));
        device().upload(sums.data(), host.data(), sums.bytes());
        BatchNormForward forward = norm.forward(*y, *z);
        forward.sums = sums.floats();
        forward.sums_pitch = channels;
        device().batch_norm_forward(forward);
        return z;
      },
      type() == DType::f16 ? 2e-3 : 2e-5);
}

TEST_P(FullSize, BiasGradients) {
  const int channels = GetParam().channels;
  const auto gradient = [&](int n) {
    const Images dy = random(n, 1);
    Images db(1, {1, 1, 1, channels}, DType::f32);
    const DeviceBuffer workspace(device(), device().channel_workspace((*dy).shape));
    device().bias_gradient(*dy, (*db).as<float>(), false, workspace.data(), nullptr);
    return db.read(0);
  };
  const std::vector<float> one = gradient(1), all = gradient(full_extent().images);
  for (int c = 0; c < channels; ++c) EXPECT_NEAR(all[c], full_extent().images * one[c], 0.5) << c;
}

}  // namespace
}  // namespace brightnet::testing
