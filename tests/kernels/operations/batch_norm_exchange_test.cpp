// Synchronized batch-norm on any device. tests/kernels/statistics_exchange_test.cpp tests that the CPU's is
// bit-identical, with concurrent ranks.
#include "tests/kernels/batch_norm_layer.h"

namespace brightnet::testing {
namespace {

/// An exchange between ranks that run one after the other on one device. Each pass runs twice: first every
/// rank gets its own sums back, and they are added up; then every rank gets the totals.
class ExchangeInTurns : public StatisticsExchange {
 public:
  explicit ExchangeInTurns(int parts) : parts_(parts) {}
  int parts() const override { return parts_; }
  int part() const override { return part_; }
  void sum(double* values, size_t count) override {
    if (collecting_) {
      std::vector<double> own(count);
      device().download(own.data(), values, count * sizeof(double));
      totals_.resize(count);
      for (size_t i = 0; i < count; ++i) totals_[i] += own[i];
    } else {
      ASSERT_EQ(count, totals_.size());
      device().upload(values, totals_.data(), count * sizeof(double));
    }
  }
  /// Calls pass(part) for every part, twice.
  template <typename Pass>
  void take(Pass&& pass) {
    totals_.clear();
    for (const bool collecting : {true, false}) {
      collecting_ = collecting;
      for (part_ = 0; part_ < parts_; ++part_) pass(part_);
    }
  }

 private:
  int parts_, part_ = 0;
  bool collecting_ = true;
  std::vector<double> totals_;
};

/// A rank with its part of a batch, the whole of which another layer has.
struct BatchPart {
  BatchNormLayer layer;
  OwnedTensor z, dz, dy, sums;
  size_t begin;

  BatchPart(const Shape& shape, const BatchNormLayer& whole, const OwnedTensor& whole_dz, int part)
      : layer(shape, whole.activation, whole.y.type()),
        z(shape, whole.y.type()),
        dz(shape, whole.y.type()),
        dy(shape, whole.y.type()),
        sums({1, 1, 2, shape.c}),
        begin(part * shape.count()) {
    const size_t channels = shape.c;
    std::vector<double> of_channels(2 * channels);
    for (size_t i = 0; i < shape.count(); ++i) {
      const double y = whole.y[begin + i];
      layer.y.set(i, y);
      dz.set(i, whole_dz[begin + i]);
      of_channels[i % channels] += y;
      of_channels[channels + i % channels] += y * y;
    }
    sums.set(of_channels);
  }
};

TEST(BatchNormOfRanks, OverTheirPartsIsBatchNormOverTheBatch) {
  constexpr int parts = 2;
  for (const DType type : compute_types()) {
    for (const int channels : {24, 21}) {  // whole vectors, and element by element
      for (const bool sums_are_known : {false, true}) {
        if (sums_are_known && channels == 21) continue;  // the pass that is left out is what differs
        SCOPED_TRACE(std::string(enum_name(type)) + ' ' + std::to_string(channels) +
                     (sums_are_known ? " channels, sums of the convolution" : " channels"));
        BatchNormLayer whole({2 * parts, 7, 5, channels}, Activation::mish, type);
        OwnedTensor z(whole.shape, type), dz(whole.shape, type), dy(whole.shape, type);
        dz.randomize(4);
        // A mean that differs from image to image: without the exchange the parts would come
        // out quite different.
        const size_t of_image = whole.y.count() / (2 * parts);
        for (size_t i = 0; i < whole.y.count(); ++i)
          whole.y.set(i, whole.y[i] + static_cast<double>(i / of_image));
        whole.forward(*z);
        whole.backward(*dz, *dy);

        ExchangeInTurns exchange(parts);
        std::vector<BatchPart> ranks;
        for (int part = 0; part < parts; ++part) {
          ranks.emplace_back(Shape{2, 7, 5, channels}, whole, dz, part);
          ranks.back().layer.exchange = &exchange;
        }
        exchange.take([&](int part) {
          BatchPart& rank = ranks[part];
          rank.layer.forget();
          rank.layer.forward(*rank.z, sums_are_known ? rank.sums.floats() : nullptr);
        });
        exchange.take([&](int part) { ranks[part].layer.backward(*ranks[part].dz, *ranks[part].dy); });

        const BatchNormReference r = whole.reference();
        std::vector<double> z_of_parts, dy_of_parts, dscale(channels), dshift(channels);
        for (const BatchPart& rank : ranks) {
          for (size_t i = 0; i < rank.z.count(); ++i) {
            z_of_parts.push_back(rank.z[i]);
            dy_of_parts.push_back(rank.dy[i]);
          }
          const double n = static_cast<double>(whole.shape.pixels());
          for (int c = 0; c < channels; ++c) {
            EXPECT_NEAR(rank.layer.mean[c], r.mean[c], 1e-5);
            EXPECT_NEAR(rank.layer.running_variance[c], 1.5 + 0.25 * r.variance[c] * n / (n - 1),
                        1e-4 * r.variance[c]);
            dscale[c] += rank.layer.dscale[c];
            dshift[c] += rank.layer.dshift[c];
          }
        }
        EXPECT_LT(relative_error(z_of_parts, r.z), 5 * tested_device().formula_error + rounding(type));
        EXPECT_LT(relative_error(dy_of_parts, dy.values()), 1e-5 + 2 * rounding(type));
        EXPECT_LT(relative_error(dscale, whole.dscale.values()), 1e-5);
        EXPECT_LT(relative_error(dshift, whole.dshift.values()), 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
