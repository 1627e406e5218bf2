// Batch-norm over the parts of a batch that several ranks hold: the same as batch-norm over the whole batch.
// The ranks are threads here.
#include <algorithm>
#include <barrier>
#include <memory>
#include <mutex>
#include <thread>

#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

class ThreadExchange : public StatisticsExchange {
 public:
  explicit ThreadExchange(int parts) : parts_(parts), arrived_(parts) {}
  int parts() const override { return parts_; }
  void sum(double* values, size_t count) override {
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

TEST(BatchNormExchange, OverThePartsOfABatchIsBatchNormOverTheBatch) {
  const Shape whole{4, 9, 7, 24}, part{2, 9, 7, 24};
  const auto backend = make_cpu_backend();
  // A mean that differs from part to part: without the exchange the parts would come out quite different.
  auto y = random_values(whole.count(), 1, 2.0f, 5.0f);
  const auto dz = random_values(whole.count(), 4);
  for (size_t i = part.count(); i < y.size(); ++i) y[i] += 3.0f;
  const BatchNormPass expected(*backend, whole, y, dz, nullptr);

  ThreadExchange exchange(2);
  std::vector<std::unique_ptr<BatchNormPass>> parts(2);
  const auto run = [&](size_t index) {
    const auto own_backend = make_cpu_backend();
    const auto begin = static_cast<long>(index * part.count()), end = begin + static_cast<long>(part.count());
    parts[index] = std::make_unique<BatchNormPass>(
        *own_backend, part, std::vector<float>(y.begin() + begin, y.begin() + end),
        std::vector<float>(dz.begin() + begin, dz.begin() + end), &exchange);
  };
  std::thread other(run, 1);
  run(0);
  other.join();

  std::vector<float> z = parts[0]->z, dy = parts[0]->dy, dscale = parts[0]->dscale, dshift = parts[0]->dshift;
  z.insert(z.end(), parts[1]->z.begin(), parts[1]->z.end());
  dy.insert(dy.end(), parts[1]->dy.begin(), parts[1]->dy.end());
  for (size_t c = 0; c < dscale.size(); ++c) {
    dscale[c] += parts[1]->dscale[c];
    dshift[c] += parts[1]->dshift[c];
  }
  EXPECT_LT(relative_error(z, expected.z), 1e-6);
  EXPECT_LT(relative_error(dy, expected.dy), 3e-6);
  EXPECT_LT(relative_error(dscale, expected.dscale), 1e-6);
  EXPECT_LT(relative_error(dshift, expected.dshift), 1e-6);
  EXPECT_LT(relative_error(parts[0]->running_mean, expected.running_mean), 1e-6);
  EXPECT_LT(relative_error(parts[0]->running_variance, expected.running_variance), 1e-6);
  EXPECT_EQ(parts[0]->running_mean, parts[1]->running_mean);
  EXPECT_EQ(parts[0]->running_variance, parts[1]->running_variance);
}

}  // namespace
}  // namespace brightnet::testing
