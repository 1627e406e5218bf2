// Batch-norm with sums of a convolution's engine, which are fp32 about zero: a channel far from zero is read again.
#include "kernels/cuda/channel_sums.h"
#include "tests/kernels/batch_norm_layer.h"

namespace brightnet::testing {
namespace {

/// Even channels lie about 0.5, odd ones about a hundred standard deviations from zero.
struct FarLayer : BatchNormLayer {
  explicit FarLayer(DType type) : BatchNormLayer({4, 31, 33, 24}, Activation::linear, type, 1, 0.5f) {
    epsilon = 0;
    for (size_t i = 0; i < y.count(); ++i) {
      if (i % 24 % 2 == 1) y.set(i, 2 * y[i] + (type == DType::bf16 ? 2000 : 300));
    }
  }
  bool far(size_t channel) const { return channel % 2 == 1; }
};

/// Sums as an engine makes them, with an error of `relative` in Σy².
OwnedTensor sums_of(const FarLayer& layer, double relative) {
  std::vector<double> sums(48);
  for (size_t i = 0; i < layer.y.count(); ++i) {
    sums[i % 24] += layer.y[i];
    sums[24 + i % 24] += layer.y[i] * layer.y[i];
  }
  OwnedTensor tensor({1, 1, 1, 48});
  for (size_t i = 0; i < 48; ++i) tensor.set(i, sums[i] * (i < 24 ? 1 : 1 + relative));
  return tensor;
}

TEST(OutputSums, AChannelFarFromZeroIsReadAgainAndNoOther) {
  for (const DType type : compute_types()) {
    if (type == DType::bf16) continue;  // 8 bits of a number hold no variance beside such a mean
    FarLayer layer(type);
    OwnedTensor z(layer.shape, type);
    const BatchNormReference r = layer.reference();
    // An error that a near channel shows, and that would make a far one's variance five times as large.
    OwnedTensor sums = sums_of(layer, 2e-4);
    layer.forward(*z, sums.floats());
    for (size_t c = 0; c < 24; ++c) {
      const double ratio = layer.inverse_std[c] * std::sqrt(r.variance[c]);
      SCOPED_TRACE(std::to_string(c) + ' ' + std::string(enum_name(type)));
      if (layer.far(c)) {
        EXPECT_NEAR(ratio, 1, 1e-5);
        EXPECT_NEAR(layer.running_variance[c], 1.5 + 0.25 * r.variance[c] * 4092 / 4091,
                    1e-4 * r.variance[c]);
      } else {
        EXPECT_NEAR(ratio, 1 - 1e-4 * (1 + 0.25), 4e-5) << "the engine's sums are taken";
      }
      EXPECT_NEAR(layer.mean[c], r.mean[c], 1e-6 * std::fabs(r.mean[c]) + 1e-6);
    }
  }
}

TEST(OutputSums, AChannelFarFromZeroIsReadAgainInASlice) {
  for (const DType type : compute_types()) {
    if (type == DType::bf16) continue;
    FarLayer layer(type);
    OwnedTensor z(layer.shape, type), wide({4, 31, 33, 64}, type), wide_sums({1, 1, 2, 64});
    const BatchNormReference r = layer.reference();
    const OwnedTensor sums = sums_of(layer, 2e-4);
    wide.fill(3);
    wide_sums.fill(3);
    for (size_t i = 0; i < layer.y.count(); ++i) wide.set(i / 24 * 64 + 16 + i % 24, layer.y[i]);
    for (size_t i = 0; i < 48; ++i) wide_sums.set(i / 24 * 64 + 16 + i % 24, sums[i]);
    layer.forward_of(slice_channels(*wide, 16, 24), *z, wide_sums.floats() + 16, 64);
    for (size_t c = 1; c < 24; c += 2)
      EXPECT_NEAR(layer.inverse_std[c] * std::sqrt(r.variance[c]), 1, 1e-5) << c << ' ' << enum_name(type);
  }
}

/// Rows of partial sums, of one block each, that a pass has written for a channel.
size_t parts_of(const OwnedTensor& workspace, size_t channels, size_t channel) {
  const std::vector<double> floats = workspace.values();
  const cuda::ChannelWorkspace room((*workspace).data, static_cast<int>(channels), nullptr);
  const auto first = static_cast<size_t>(reinterpret_cast<float*>(room.parts) - workspace.floats());
  size_t rows = 0;
  while (first + 2 * (rows * channels + channel) + 1 < floats.size() &&
         floats[first + 2 * (rows * channels + channel) + 1] != 0)
    ++rows;
  return rows;
}

// One block alone would read a whole column of the tensor: 189 MB of an image size of 304 and a batch of 64.
TEST(OutputSums, AChannelFarFromZeroIsReadByManyBlocks) {
  FarLayer layer(DType::f16);
  OwnedTensor z(layer.shape, DType::f16);
  OwnedTensor sums = sums_of(layer, 0);
  layer.workspace.fill(0);
  layer.forward(*z, sums.floats());
  EXPECT_GE(parts_of(layer.workspace, 24, 1), 5u) << "of 4092 pixels, of which a thread takes eight";

  // A layer without any has nothing to add up.
  BatchNormLayer near({4, 31, 33, 24}, Activation::linear, DType::f16, 1, 0.5f);
  OwnedTensor near_sums({1, 1, 1, 48});
  for (size_t i = 0; i < near.y.count(); ++i) {
    near_sums.set(i % 24, near_sums[i % 24] + near.y[i]);
    near_sums.set(24 + i % 24, near_sums[24 + i % 24] + near.y[i] * near.y[i]);
  }
  near.workspace.fill(0);
  near.forward(*z, near_sums.floats());
  EXPECT_EQ(parts_of(near.workspace, 24, 1), 0u);
}

TEST(OutputSums, ANegativeVarianceIsReadAgain) {
  FarLayer layer(DType::f32);
  OwnedTensor z(layer.shape, DType::f32);
  const BatchNormReference r = layer.reference();
  OwnedTensor sums = sums_of(layer, -1e-3);
  layer.forward(*z, sums.floats());
  for (size_t c = 1; c < 24; c += 2) EXPECT_NEAR(layer.inverse_std[c] * std::sqrt(r.variance[c]), 1, 1e-5);
}

}  // namespace
}  // namespace brightnet::testing
