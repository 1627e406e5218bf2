#include "train/distributed/gradient_exchange.h"

#include <gtest/gtest.h>

#include "tests/layers/models.h"
#include "train/distributed/solo.h"

namespace brightnet::testing {
namespace {

/// Notes what it is asked to sum, and when.
class Listener : public SoloCollectives {
 public:
  void start_all_reduce(float* values, size_t count, Reduction reduction) override {
    started.push_back({values, count, reduction});
  }
  void finish_all_reduces() override { ++finished; }

  struct Started {
    float* values;
    size_t count;
    Reduction reduction;
  };
  std::vector<Started> started;
  int finished = 0;
};

TEST(GradientExchange, CutsTheWholeGradientAtTheBordersOfLayers) {
  const Model model = shipped_model("yolov4-tiny", 3);
  const ParameterLayout layout(model);
  for (const size_t bytes : {size_t{1}, size_t{1} << 20, size_t{8} << 20, size_t{1} << 40}) {
    const auto buckets = cut_into_buckets(layout, bytes);
    size_t end = layout.trainable_floats();
    for (size_t i = 0; i < buckets.size(); ++i) {
      EXPECT_EQ(buckets[i].end, end) << "without a gap, the last bucket first";
      EXPECT_LT(buckets[i].begin, end);
      end = buckets[i].begin;
      if (i + 1 < buckets.size()) {
        EXPECT_GE((buckets[i].end - buckets[i].begin) * sizeof(float), bytes);
      }
      for (const auto& entry : layout.entries()) {
        if (entry.offset >= layout.trainable_floats()) continue;
        const bool inside = entry.offset >= buckets[i].begin && entry.offset < buckets[i].end;
        if (inside) {
          EXPECT_GE(entry.layer, buckets[i].first_layer) << entry.name;
        } else if (entry.offset < buckets[i].begin) {
          EXPECT_LT(entry.layer, buckets[i].first_layer) << entry.name;
        }
      }
    }
    EXPECT_EQ(end, 0u);
    if (bytes > (size_t{1} << 30)) {
      EXPECT_EQ(buckets.size(), 1u);
    }
  }
}

TEST(GradientExchange, AveragesTheStatisticsOfLayersThatTrain) {
  Model model = shipped_model("yolov4-tiny", 3);
  const ParameterLayout whole(model);
  EXPECT_EQ(trained_statistics(whole), (std::vector<FloatRange>{{whole.trainable_floats(), whole.floats()}}));
  std::vector<int> normalised;
  for (const auto& entry : whole.entries()) {
    if (entry.offset >= whole.trainable_floats() && (normalised.empty() || normalised.back() != entry.layer))
      normalised.push_back(entry.layer);
  }
  for (const int frozen : {normalised[0], normalised[2]}) model.layers[frozen].rate = 0;
  const ParameterLayout layout(model);
  const auto ranges = trained_statistics(layout);
  EXPECT_EQ(ranges.size(), 2u) << "before the third and after it";
  for (const auto& entry : layout.entries()) {
    if (entry.offset < layout.trainable_floats()) continue;
    const bool averaged = std::any_of(ranges.begin(), ranges.end(), [&](const FloatRange& range) {
      return entry.offset >= range.begin && entry.offset + entry.count <= range.end;
    });
    EXPECT_EQ(averaged, entry.rate > 0) << entry.name;
  }
}

TEST(GradientExchange, StartsABucketWhenTheBackwardPassIsDoneWithItsLayers) {
  const Model model = shipped_model("yolov4-tiny", 3);
  const ParameterLayout layout(model);
  std::vector<float> values(layout.floats()), gradients(layout.trainable_floats());
  const Parameters parameters{.layout = &layout, .values = values.data(), .gradients = gradients.data()};
  for (const bool overlap : {true, false}) {
    Listener listener;
    GradientExchange exchange(listener, parameters, {.bucket_bytes = 1 << 20, .overlap = overlap});
    const auto& buckets = exchange.buckets();
    ASSERT_GT(buckets.size(), 3u);
    exchange.forward_done();
    ASSERT_EQ(listener.started.size(), 1u) << "the running statistics";
    EXPECT_EQ(listener.started[0].values, values.data() + layout.trainable_floats());
    EXPECT_EQ(listener.started[0].reduction, Reduction::mean);
    for (int layer = static_cast<int>(model.layers.size()) - 1; layer >= 0; --layer) {
      exchange.layer_done(layer);
      size_t final = 0;
      while (final < buckets.size() && buckets[final].first_layer >= layer) ++final;
      EXPECT_EQ(listener.started.size(), 1 + (overlap ? final : 0)) << "after layer " << layer;
    }
    exchange.finish();
    ASSERT_EQ(listener.started.size(), 1 + buckets.size());
    for (size_t i = 0; i < buckets.size(); ++i) {
      EXPECT_EQ(listener.started[i + 1].values, gradients.data() + buckets[i].begin);
      EXPECT_EQ(listener.started[i + 1].count, buckets[i].end - buckets[i].begin);
      EXPECT_EQ(listener.started[i + 1].reduction, Reduction::sum);
    }
    EXPECT_GT(listener.finished, 0);
  }
}

}  // namespace
}  // namespace brightnet::testing
