// Batch-norm with its activation against an fp64 reference, and its gradient against differences of that.
#include <barrier>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "tests/kernels/device.h"

namespace brightnet {
namespace {

using testing::DeviceTensor;
using testing::random_values;
using testing::relative_error;

double activation_in_fp64(Activation activation, double v) {
  const double sigmoid = 1 / (1 + std::exp(-v));
  switch (activation) {
    case Activation::relu:
      return std::max(v, 0.0);
    case Activation::leaky:
      return v > 0 ? v : 0.1 * v;
    case Activation::mish:
      return v * std::tanh(std::log1p(std::exp(v)));
    case Activation::swish:
      return v * sigmoid;
    case Activation::logistic:
      return sigmoid;
    default:
      return v;
  }
}

std::vector<double> wide(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

struct Reference {
  std::vector<double> z, mean, variance;
};

Reference forward_in_fp64(const std::vector<double>& y, const std::vector<double>& scale,
                          const std::vector<double>& shift, Activation activation, double epsilon) {
  const size_t channels = scale.size(), pixels = y.size() / channels;
  Reference r{std::vector<double>(y.size()), std::vector<double>(channels), std::vector<double>(channels)};
  for (size_t i = 0; i < y.size(); ++i) r.mean[i % channels] += y[i] / pixels;
  for (size_t i = 0; i < y.size(); ++i)
    r.variance[i % channels] += std::pow(y[i] - r.mean[i % channels], 2) / pixels;
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t c = i % channels;
    r.z[i] = activation_in_fp64(
        activation, scale[c] * (y[i] - r.mean[c]) / std::sqrt(r.variance[c] + epsilon) + shift[c]);
  }
  return r;
}

class BatchNormTest : public ::testing::TestWithParam<std::tuple<Shape, Activation, DType>> {
 protected:
  BatchNormTest()
      : shape_(std::get<0>(GetParam())),
        activation_(std::get<1>(GetParam())),
        type_(std::get<2>(GetParam())),
        backend_(make_cpu_backend()),
        y_(random_values(shape_.count(), 1, type_, 2.0f, 5.0f)),
        scale_(random_values(shape_.c, 2, DType::f32, 0.3f, 1.0f)),
        shift_(random_values(shape_.c, 3)),
        running_mean_(shape_.c, 1.0f),
        running_variance_(shape_.c, 2.0f),
        mean_(shape_.c),
        inverse_std_(shape_.c),
        workspace_(backend_->channel_workspace(shape_) / sizeof(double) + 1),
        y_tensor_(*backend_, shape_, type_),
        z_tensor_(*backend_, shape_, type_) {
    y_tensor_.set(y_);
  }

  void forward() {
    BatchNormForward op{.y = y_tensor_, .z = z_tensor_};
    op.scale = scale_.data();
    op.shift = shift_.data();
    op.running_mean = running_mean_.data();
    op.running_variance = running_variance_.data();
    op.mean = mean_.data();
    op.inverse_std = inverse_std_.data();
    op.momentum = 0.25f;
    op.activation = activation_;
    op.workspace = workspace_.data();
    backend_->batch_norm_forward(op);
  }

  Shape shape_;
  Activation activation_;
  DType type_;
  std::unique_ptr<Backend> backend_;
  std::vector<float> y_, scale_, shift_, running_mean_, running_variance_, mean_, inverse_std_;
  std::vector<double> workspace_;
  DeviceTensor y_tensor_, z_tensor_;
};

TEST_P(BatchNormTest, ForwardAgreesWithFp64) {
  forward();
  const Reference r = forward_in_fp64(wide(y_), wide(scale_), wide(shift_), activation_, 1e-5);
  EXPECT_LT(relative_error(z_tensor_.get(), r.z), type_ == DType::f32 ? 3e-6 : 4e-3);
  const double n = static_cast<double>(shape_.pixels());
  for (int c = 0; c < shape_.c; ++c) {
    EXPECT_NEAR(mean_[c], r.mean[c], 1e-5);
    EXPECT_NEAR(running_mean_[c], 0.75 + 0.25 * r.mean[c], 1e-5);
    EXPECT_NEAR(running_variance_[c], 1.5 + 0.25 * r.variance[c] * n / (n - 1), 1e-4 * r.variance[c] + 1e-5);
  }
}

TEST_P(BatchNormTest, BackwardIsTheDerivative) {
  forward();
  const auto dz = random_values(shape_.count(), 4, type_);
  DeviceTensor dz_tensor(*backend_, shape_, type_);
  dz_tensor.set(dz);
  std::vector<float> dscale(shape_.c, 7.0f), dshift(shape_.c, 7.0f);
  BatchNormBackward op{.y = y_tensor_, .dz = dz_tensor, .dy = dz_tensor};
  op.scale = scale_.data();
  op.shift = shift_.data();
  op.mean = mean_.data();
  op.inverse_std = inverse_std_.data();
  op.scale_gradient = dscale.data();
  op.shift_gradient = dshift.data();
  op.accumulate = false;
  op.activation = activation_;
  op.workspace = workspace_.data();
  backend_->batch_norm_backward(op);
  const auto dy = dz_tensor.get();

  // Central differences of Σ dz·z in fp64, with steps so small that hardly an element crosses a kink.
  const auto objective = [&](const std::vector<double>& y, const std::vector<double>& scale,
                             const std::vector<double>& shift) {
    const Reference r = forward_in_fp64(y, scale, shift, activation_, 1e-5);
    double sum = 0;
    for (size_t i = 0; i < dz.size(); ++i) sum += static_cast<double>(dz[i]) * r.z[i];
    return sum;
  };
  const std::vector<double> y = wide(y_), scale = wide(scale_), shift = wide(shift_);
  const double h = 1e-6, relative = type_ == DType::f32 ? 2e-4 : 1e-2;
  for (uint64_t trial = 0; trial < 3; ++trial) {
    const auto direction = random_values(y.size(), 10 + trial);
    std::vector<double> plus = y, minus = y;
    double along = 0, size = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      plus[i] += h * direction[i];
      minus[i] -= h * direction[i];
      along += static_cast<double>(dy[i]) * direction[i];
      size += std::pow(static_cast<double>(dy[i]), 2);
    }
    const double expected = (objective(plus, scale, shift) - objective(minus, scale, shift)) / (2 * h);
    EXPECT_NEAR(along, expected, relative * std::sqrt(size) + 1e-5);
  }
  const double size = relative * std::sqrt(static_cast<double>(shape_.pixels()));
  for (int c = 0; c < std::min(shape_.c, 4); ++c) {
    auto plus = scale, minus = scale;
    plus[c] += h;
    minus[c] -= h;
    EXPECT_NEAR(dscale[c], (objective(y, plus, shift) - objective(y, minus, shift)) / (2 * h), size);
    plus = minus = shift;
    plus[c] += h;
    minus[c] -= h;
    EXPECT_NEAR(dshift[c], (objective(y, scale, plus) - objective(y, scale, minus)) / (2 * h), size);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BatchNormTest,
    ::testing::Combine(::testing::Values(Shape{2, 13, 13, 64}, Shape{3, 19, 19, 3}, Shape{1, 5, 7, 255},
                                         Shape{17, 1, 1, 24}, Shape{1, 26, 26, 32}),
                       ::testing::Values(Activation::linear, Activation::relu, Activation::leaky,
                                         Activation::mish, Activation::swish, Activation::logistic),
                       ::testing::Values(DType::f32, DType::bf16)));

TEST(BatchNorm, StatisticsSurviveAMeanFarFromZero) {
  const auto backend = make_cpu_backend();
  const Shape shape{4, 32, 32, 16};
  const auto y = random_values(shape.count(), 1, DType::f32, 0.01f, 1000.0f);
  DeviceTensor y_(*backend, shape, DType::f32), z_(*backend, shape, DType::f32);
  y_.set(y);
  std::vector<float> one(16, 1.0f), zero(16), mean(16), inverse_std(16), m(16), v(16);
  std::vector<double> workspace(backend->channel_workspace(shape) / sizeof(double) + 1);
  BatchNormForward op{.y = y_, .z = z_};
  op.scale = one.data();
  op.shift = zero.data();
  op.running_mean = m.data();
  op.running_variance = v.data();
  op.mean = mean.data();
  op.inverse_std = inverse_std.data();
  op.epsilon = 0;
  op.workspace = workspace.data();
  backend->batch_norm_forward(op);
  const Reference r = forward_in_fp64(wide(y), wide(one), wide(zero), Activation::linear, 0);
  for (int c = 0; c < 16; ++c) EXPECT_NEAR(inverse_std[c] * std::sqrt(r.variance[c]), 1.0, 1e-4);
}

/// Parts of a batch that are threads of this program.
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

  BatchNormPass(Backend& backend, const Shape& shape, const std::vector<float>& y_values,
                const std::vector<float>& dz_values, StatisticsExchange* exchange)
      : dscale(shape.c), dshift(shape.c), running_mean(shape.c, 1.0f), running_variance(shape.c, 2.0f) {
    const auto scale = random_values(shape.c, 2, DType::f32, 0.3f, 1.0f), shift = random_values(shape.c, 3);
    std::vector<float> mean(shape.c), inverse_std(shape.c);
    std::vector<double> workspace(backend.channel_workspace(shape) / sizeof(double) + 1);
    DeviceTensor y(backend, shape, DType::f32), z_tensor(backend, shape, DType::f32),
        dz(backend, shape, DType::f32);
    y.set(y_values);
    dz.set(dz_values);
    BatchNormForward forward{.y = y, .z = z_tensor};
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
    z = z_tensor.get();
    BatchNormBackward backward{.y = y, .dz = dz, .dy = dz};
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
    dy = dz.get();
  }
};

TEST(BatchNorm, OverThePartsOfABatchIsBatchNormOverTheBatch) {
  const Shape whole{4, 9, 7, 24}, part{2, 9, 7, 24};
  const auto backend = make_cpu_backend();
  // A mean that differs from part to part: without the exchange the parts would come out quite different.
  auto y = random_values(whole.count(), 1, DType::f32, 2.0f, 5.0f);
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

TEST(BatchNorm, FoldedConvolutionDoesTheSame) {
  const auto backend = make_cpu_backend();
  const auto w = random_values(8 * 5, 1), scale = random_values(8, 2), shift = random_values(8, 3),
             mean = random_values(8, 4);
  std::vector<float> variance = random_values(8, 5), folded(40), bias(8);
  for (float& v : variance) v = v * v + 0.1f;
  backend->fold_batch_norm({w.data(), scale.data(), shift.data(), mean.data(), variance.data(), 1e-3f, 8, 5,
                            folded.data(), bias.data()});
  const auto x = random_values(5, 6);
  for (int o = 0; o < 8; ++o) {
    double plain = 0, fused = bias[o];
    for (int i = 0; i < 5; ++i) {
      plain += static_cast<double>(w[o * 5 + i]) * x[i];
      fused += static_cast<double>(folded[o * 5 + i]) * x[i];
    }
    EXPECT_NEAR(fused, scale[o] * (plain - mean[o]) / std::sqrt(variance[o] + 1e-3) + shift[o], 1e-4);
  }
}

}  // namespace
}  // namespace brightnet
