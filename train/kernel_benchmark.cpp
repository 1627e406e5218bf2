#include "train/kernel_benchmark.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include "core/random.h"
#include "layers/parameters.h"

namespace brightnet {
namespace {

constexpr int rounds = 9, calls_of_round = 5;

using Clock = std::chrono::steady_clock;

/// The tensors that the operations share, and their measuring.
class KernelBench {
 public:
  KernelBench(Backend& backend, DType type, const Shape& shape)
      : backend_(backend),
        shape_(shape),
        type_(type),
        x_(filled(shape, 1)),
        y_(filled(shape, 2)),
        z_(filled(shape, 3)),
        small_(backend, shape.count() / 4 * size_of(type)),
        argmax_(backend, shape.count() / 4),
        pixels_(backend, shape.count()),
        workspace_(backend, backend.channel_workspace(shape) + 64) {
    backend.zero(pixels_.data(), pixels_.bytes());
    backend.zero(argmax_.data(), argmax_.bytes());
    backend.zero(small_.data(), small_.bytes());
    std::vector<float> ones(static_cast<size_t>(shape.c), 1.0f);
    for (DeviceBuffer& buffer : channel_) {
      buffer = DeviceBuffer(backend, ones.size() * sizeof(float));
      backend.upload(buffer.data(), ones.data(), buffer.bytes());
    }
  }

  std::vector<KernelBenchmark> run() {
    const double element = static_cast<double>(size_of(type_)), count = static_cast<double>(shape_.count());
    const Tensor x = tensor(x_), y = tensor(y_), z = tensor(z_);
    const Tensor small{small_.data(), {shape_.n, shape_.h / 2, shape_.w / 2, shape_.c}, type_};
    const Tensor argmax{argmax_.data(), small.shape, DType::u8};
    const PoolSpec pool{2, 2, 0};
    measure("copy", 2 * count * element, [&] { backend_.copy(y.data, x.data, x.bytes()); });
    measure("batch_norm forward", 3 * count * element, [&] { backend_.batch_norm_forward(forward(x, z)); });
    measure("batch_norm apply", 2 * count * element, [&] {
      BatchNormForward again = forward(x, z);
      again.statistics_known = true;
      backend_.batch_norm_forward(again);
    });
    measure("batch_norm backward", 5 * count * element,
            [&] { backend_.batch_norm_backward(backward(x, y, z)); });
    measure("activation forward", 2 * count * element,
            [&] { backend_.activation_forward(Activation::mish, x, z); });
    measure("add", 3 * count * element, [&] { backend_.add(x, y, z); });
    measure("copy_channels", count * element,
            [&] { backend_.copy_channels(x, 0, z, shape_.c / 2, shape_.c / 2, false); });
    measure("max_pool forward", count * (1.25 * element + 0.25),
            [&] { backend_.max_pool_forward(pool, x, small, argmax); });
    measure("max_pool backward", count * (1.25 * element + 0.25),
            [&] { backend_.max_pool_backward(pool, small, argmax, z, false); });
    measure("upsample forward", 1.25 * count * element, [&] { backend_.upsample_forward(2, small, z); });
    measure("upsample backward", 1.25 * count * element,
            [&] { backend_.upsample_backward(2, x, small, false); });
    measure("bias_gradient", count * element,
            [&] { backend_.bias_gradient(x, channel_[0].floats(), false, workspace_.data(), nullptr); });
    if (type_ != DType::f32) {
      const DeviceBuffer wide(backend_, shape_.count() * sizeof(float));
      backend_.cast(x, {wide.data(), shape_, DType::f32});
      measure("cast from fp32", count * (4 + element), [&] {
        backend_.cast({wide.data(), shape_, DType::f32}, z);
      });
    }
    measure("normalize_image", count * (1 + element), [&] {
      backend_.normalize_image({pixels_.data(), shape_, DType::u8}, z);
    });
    for (auto& result : results_)
      result.copy_ratio = result.bytes / result.seconds / (results_[0].bytes / results_[0].seconds);
    return std::move(results_);
  }

 private:
  Tensor tensor(const DeviceBuffer& buffer) const { return {buffer.data(), shape_, type_}; }

  DeviceBuffer filled(const Shape& shape, uint64_t seed) {
    Random random(seed, Purpose::test);
    std::vector<float> values(shape.count());
    for (float& value : values) value = random.uniform(-1.0f, 1.0f);
    DeviceBuffer buffer(backend_, values.size() * size_of(type_)),
        wide(backend_, values.size() * sizeof(float));
    backend_.upload(wide.data(), values.data(), wide.bytes());
    if (type_ == DType::f32) return wide;
    backend_.cast({wide.data(), shape, DType::f32}, {buffer.data(), shape, type_});
    backend_.synchronize();
    return buffer;
  }

  BatchNormForward forward(const Tensor& y, const Tensor& z) {
    BatchNormForward op{.y = y, .z = z};
    op.scale = channel_[0].floats();
    op.shift = channel_[1].floats();
    op.running_mean = channel_[2].floats();
    op.running_variance = channel_[3].floats();
    op.mean = channel_[4].floats();
    op.inverse_std = channel_[5].floats();
    op.activation = Activation::mish;
    op.workspace = workspace_.data();
    return op;
  }
  BatchNormBackward backward(const Tensor& y, const Tensor& dz, const Tensor& dy) {
    BatchNormBackward op{.y = y, .dz = dz, .dy = dy};
    op.scale = channel_[0].floats();
    op.shift = channel_[1].floats();
    op.mean = channel_[4].floats();
    op.inverse_std = channel_[5].floats();
    op.scale_gradient = channel_[6].floats();
    op.shift_gradient = channel_[7].floats();
    op.accumulate = false;
    op.activation = Activation::mish;
    op.workspace = workspace_.data();
    return op;
  }

  void measure(const std::string& name, double bytes, const std::function<void()>& call) {
    call();
    std::vector<double> seconds;
    for (int round = 0; round < rounds; ++round) {
      backend_.synchronize();
      const auto begin = Clock::now();
      for (int i = 0; i < calls_of_round; ++i) call();
      backend_.synchronize();
      seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / calls_of_round);
    }
    std::nth_element(seconds.begin(), seconds.begin() + rounds / 2, seconds.end());
    results_.push_back({name, shape_, bytes, seconds[rounds / 2], 0});
  }

  Backend& backend_;
  const Shape shape_;
  const DType type_;
  DeviceBuffer x_, y_, z_, small_, argmax_, pixels_, workspace_;
  DeviceBuffer channel_[8];
  std::vector<KernelBenchmark> results_;
};

}  // namespace

std::vector<KernelBenchmark> measure_kernels(Backend& backend, Precision precision, int batch) {
  std::vector<KernelBenchmark> all;
  for (const Shape& shape : {Shape{batch, 304, 304, 64}, Shape{batch, 76, 76, 256}}) {
    auto results = KernelBench(backend, compute_type(precision), shape).run();
    all.insert(all.end(), results.begin(), results.end());
  }
  return all;
}

}  // namespace brightnet
