// Sums over the parts of a batch that several ranks hold: the same as over the whole batch, to the last bit.
// The ranks are threads here.
#include <algorithm>
#include <barrier>
#include <memory>
#include <mutex>
#include <thread>

#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

/// Where `parts` threads add their sums.
class Meeting {
 public:
  explicit Meeting(int parts) : parts_(parts), arrived_(parts) {}
  int parts() const { return parts_; }
  void sum(double* values, size_t count) {
    {
      const std::lock_guard lock(mutex_);
      if (added_ == 0) sums_.assign(count, 0.0);
      added_ = (added_ + 1) % parts_;
      for (size_t i = 0; i < count; ++i) sums_[i] += values[i];
    }
    arrived_.arrive_and_wait();
    std::copy_n(sums_.begin(), count, values);
    arrived_.arrive_and_wait();
  }

 private:
  int parts_, added_ = 0;
  std::barrier<> arrived_;
  std::mutex mutex_;
  std::vector<double> sums_;
};

class ThreadExchange : public StatisticsExchange {
 public:
  ThreadExchange(Meeting& meeting, int part) : meeting_(meeting), part_(part) {}
  int parts() const override { return meeting_.parts(); }
  int part() const override { return part_; }
  void sum(double* values, size_t count) override { meeting_.sum(values, count); }

 private:
  Meeting& meeting_;
  int part_;
};

/// Calls body(part, exchange) in a thread for each part.
template <typename Body>
void on_parts(int parts, Body&& body) {
  Meeting meeting(parts);
  std::vector<std::thread> threads;
  for (int part = 0; part < parts; ++part) {
    threads.emplace_back([&, part] {
      ThreadExchange exchange(meeting, part);
      body(part, exchange);
    });
  }
  for (auto& thread : threads) thread.join();
}

/// The values of part `index` of `parts`.
std::vector<float> part_of(const std::vector<float>& values, int index, int parts) {
  const auto count = static_cast<long>(values.size()) / parts;
  return {values.begin() + index * count, values.begin() + (index + 1) * count};
}

void append(std::vector<float>& values, const std::vector<float>& more) {
  values.insert(values.end(), more.begin(), more.end());
}

void add(std::vector<float>& values, const std::vector<float>& more) {
  for (size_t i = 0; i < values.size(); ++i) values[i] += more[i];
}

/// One forward and backward pass over a part of a batch.
struct BatchNormPass {
  std::vector<float> z, dy, dscale, dshift, running_mean, running_variance;

  BatchNormPass(Backend& backend, const Shape& shape, std::vector<float> y, const std::vector<float>& dz,
                StatisticsExchange* exchange)
      : z(shape.count()),
        dy(dz),
        dscale(shape.c),
        dshift(shape.c),
        running_mean(shape.c, 1.0f),
        running_variance(shape.c, 2.0f) {
    const auto scale = random_values(shape.c, 2, 0.3f, 1.0f), shift = random_values(shape.c, 3);
    std::vector<float> mean(shape.c), inverse_std(shape.c);
    std::vector<double> workspace(backend.channel_workspace(shape) / sizeof(double) + 1);
    const Tensor y_tensor{y.data(), shape}, dz_tensor{dy.data(), shape};
    BatchNormForward forward{.y = y_tensor, .z = {z.data(), shape}};
    forward.scale = scale.data();
    forward.shift = shift.data();
    forward.running_mean = running_mean.data();
    forward.running_variance = running_variance.data();
    forward.mean = mean.data();
    forward.inverse_std = inverse_std.data();
    forward.activation = Activation::mish;
    forward.workspace = workspace.data();
    forward.exchange = exchange;
    backend.batch_norm_forward(forward);
    BatchNormBackward backward{.y = y_tensor, .dz = dz_tensor, .dy = dz_tensor};
    backward.scale = scale.data();
    backward.shift = shift.data();
    backward.mean = mean.data();
    backward.inverse_std = inverse_std.data();
    backward.scale_gradient = dscale.data();
    backward.shift_gradient = dshift.data();
    backward.accumulate = false;
    backward.activation = Activation::mish;
    backward.workspace = workspace.data();
    backward.exchange = exchange;
    backend.batch_norm_backward(backward);
  }
};

// Bit-identical: each thread adds in its own order, and fp64 absorbs the difference.
TEST(BatchNormExchange, OverThePartsOfABatchIsBatchNormOverTheBatchToTheLastBit) {
  const Shape whole{12, 19, 13, 24};
  const auto backend = make_cpu_backend();
  // A mean that differs from image to image: without the exchange the parts would come out quite different.
  auto y = random_values(whole.count(), 1, 2.0f, 5.0f);
  const auto dz = random_values(whole.count(), 4);
  const size_t image = whole.count() / 12;
  for (size_t i = 0; i < y.size(); ++i) y[i] += 0.25f * static_cast<float>(i / image);
  Meeting one(1);
  ThreadExchange alone(one, 0);
  const BatchNormPass expected(*backend, whole, y, dz, &alone);

  for (const int parts : {2, 3, 4}) {
    std::vector<std::unique_ptr<BatchNormPass>> passes(static_cast<size_t>(parts));
    on_parts(parts, [&](int part, StatisticsExchange& exchange) {
      const auto own_backend = make_cpu_backend();
      const Shape shape{12 / parts, 19, 13, 24};
      passes[static_cast<size_t>(part)] = std::make_unique<BatchNormPass>(
          *own_backend, shape, part_of(y, part, parts), part_of(dz, part, parts), &exchange);
    });
    std::vector<float> z, dy, dscale(24), dshift(24);
    for (const auto& pass : passes) {
      append(z, pass->z);
      append(dy, pass->dy);
      add(dscale, pass->dscale);
      add(dshift, pass->dshift);
      EXPECT_EQ(pass->running_mean, expected.running_mean);
      EXPECT_EQ(pass->running_variance, expected.running_variance);
    }
    EXPECT_EQ(z, expected.z) << parts;
    EXPECT_EQ(dy, expected.dy) << parts;
    EXPECT_EQ(dscale, expected.dscale) << parts;
    EXPECT_EQ(dshift, expected.dshift) << parts;
  }
}

TEST(BatchNormExchange, OfOnePartChangesNothing) {
  const Shape shape{4, 9, 7, 24};
  const auto backend = make_cpu_backend();
  const auto y = random_values(shape.count(), 1, 2.0f, 5.0f), dz = random_values(shape.count(), 4);
  Meeting one(1);
  ThreadExchange exchange(one, 0);
  const BatchNormPass with(*backend, shape, y, dz, &exchange), without(*backend, shape, y, dz, nullptr);
  EXPECT_EQ(with.z, without.z);
  EXPECT_EQ(with.dy, without.dy);
  EXPECT_EQ(with.dscale, without.dscale);
}

TEST(BiasGradientExchange, IsTheWholeBatchsToTheLastBit) {
  const Shape whole{12, 19, 13, 21};
  const auto dy = random_values(whole.count(), 5);
  const auto gradient = [&](Shape shape, std::vector<float> values, StatisticsExchange& exchange) {
    const auto backend = make_cpu_backend();
    std::vector<float> db(21, 0.5f);
    std::vector<double> workspace(backend->channel_workspace(shape) / sizeof(double) + 1);
    backend->bias_gradient({values.data(), shape}, db.data(), false, workspace.data(), &exchange);
    return db;
  };
  Meeting one(1);
  ThreadExchange alone(one, 0);
  const auto expected = gradient(whole, dy, alone);
  std::vector<std::vector<float>> parts(3);
  on_parts(3, [&](int part, StatisticsExchange& exchange) {
    parts[static_cast<size_t>(part)] = gradient({4, 19, 13, 21}, part_of(dy, part, 3), exchange);
  });
  for (int part = 1; part < 3; ++part) add(parts[0], parts[static_cast<size_t>(part)]);
  EXPECT_EQ(parts[0], expected);
}

/// The weights' gradient of a convolution over `x` and `dy`, added to `before`.
std::vector<float> weight_gradient(ConvolutionSpec spec, std::vector<float> x, std::vector<float> dy,
                                   StatisticsExchange* exchange, float before) {
  spec.exchange = exchange;
  const auto convolution = make_cpu_backend()->plan_convolution(spec);
  std::vector<double> weights(convolution->weight_bytes() / sizeof(double) + 8),
      workspace(convolution->workspace_bytes() / sizeof(double) + 8);
  const auto aligned = [](std::vector<double>& memory) {
    void* start = memory.data();
    size_t room = memory.size() * sizeof(double);
    return std::align(64, 1, start, room);
  };
  convolution->bind(aligned(weights), aligned(workspace));
  std::vector<float> dw(spec.weight_count(), before);
  convolution->backward_weights({x.data(), spec.input}, {dy.data(), spec.output}, dw.data(), before != 0);
  return dw;
}

TEST(ConvolutionExchange, WeightsGradientIsTheWholeBatchsToTheLastBit) {
  ConvolutionSpec whole;
  whole.input = {12, 15, 11, 19};
  whole.output = {12, 8, 6, 33};
  whole.kernel = 3;
  whole.stride = 2;
  whole.padding = 1;
  const auto x = random_values(whole.input.count(), 1), dy = random_values(whole.output.count(), 2);
  for (const float before : {0.0f, 0.75f}) {
    Meeting one(1);
    ThreadExchange alone(one, 0);
    const auto expected = weight_gradient(whole, x, dy, &alone, before);
    EXPECT_LT(relative_error(expected, weight_gradient(whole, x, dy, nullptr, before)), 1e-6);
    for (const int parts : {2, 3, 4}) {
      std::vector<std::vector<float>> results(static_cast<size_t>(parts));
      ConvolutionSpec spec = whole;
      spec.input.n = spec.output.n = 12 / parts;
      on_parts(parts, [&](int part, StatisticsExchange& exchange) {
        results[static_cast<size_t>(part)] =
            weight_gradient(spec, part_of(x, part, parts), part_of(dy, part, parts), &exchange, before);
      });
      for (int part = 1; part < parts; ++part) {
        for (const float value : results[static_cast<size_t>(part)]) {
          ASSERT_EQ(value, before) << "the first part has it all";
        }
      }
      EXPECT_EQ(results[0], expected) << parts;
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
