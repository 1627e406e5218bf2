// Memory throughput of the CPU's elementwise operations at the larger shapes of yolov4-tiny (416 pixels,
// batch 8), to be read next to that of memcpy in the same run: these operations should cost their memory
// traffic and no more. Traffic is counted as what an operation must read and write once, so that "of_memcpy"
// of 1 means that nothing is left to win.
//
//     brightnet_benchmarks --benchmark_filter=max_pool
//
// With OMP_NUM_THREADS=1 it counts the thread's own CPU time, so that it can be read on a busy machine too.
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/random.h"
#include "core/threads.h"
#include "kernels/cpu/elementwise.h"
#include "tests/kernels/on_cpu.h"

namespace brightnet::benchmarks {
namespace {

/// A tensor with its own cache-aligned memory, filled with values near 1 (as f32, bf16 or bytes).
class OwnedTensor {
 public:
  OwnedTensor(const Shape& shape, DType type) : memory_(shape.count() * size_of(type) + 64) {
    const auto start = reinterpret_cast<uintptr_t>(memory_.data());
    tensor_ = {memory_.data() + (64 - start % 64), shape, type};
    Random random(1, Purpose::test);
    for (size_t i = 0; i < shape.count(); ++i) {
      const float value = random.uniform(-2.0f, 2.0f);
      if (type == DType::f32) tensor_.as<float>()[i] = value;
      if (type == DType::bf16) tensor_.as<BFloat16>()[i] = BFloat16(value);
      if (type == DType::u8) tensor_.as<uint8_t>()[i] = 0;
    }
  }
  operator const Tensor&() const { return tensor_; }
  float* floats() const { return tensor_.as<float>(); }
  size_t bytes() const { return tensor_.bytes(); }

 private:
  std::vector<unsigned char> memory_;
  Tensor tensor_;
};

double now() {
  if (omp_get_max_threads() > 1) return omp_get_wtime();
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Seconds of one copy of as much memory as the operation moves (half of it read, half of it written), on all
/// threads; the best of several.
double memcpy_seconds(size_t traffic) {
  const size_t bytes = traffic / 2;
  std::vector<unsigned char> from(bytes, 1), to(bytes, 2);
  double best = 1e30;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double start = now();
    parallel_ranges(bytes,
                    [&](size_t begin, size_t end) { std::memcpy(&to[begin], &from[begin], end - begin); });
    best = std::min(best, now() - start);
    benchmark::DoNotOptimize(to.data());
  }
  return best;
}

/// Times the operation; the best run is compared, as memcpy's is: the machine is seldom ours alone.
void measure(benchmark::State& state, size_t traffic, const std::function<void()>& operation) {
  operation();
  double best = 1e30;
  for (auto _ : state) {
    const double start = now();
    operation();
    best = std::min(best, now() - start);
  }
  const double copied = memcpy_seconds(traffic);
  state.counters["GB/s"] = static_cast<double>(traffic) / best * 1e-9;
  state.counters["memcpy_GB/s"] = static_cast<double>(traffic) / copied * 1e-9;
  state.counters["of_memcpy"] = copied / best;
  state.counters["best_ms"] = best * 1e3;
}

using Benchmark = std::function<void(benchmark::State&, DType)>;
void add_benchmark(const std::string& name, const Benchmark& body, bool both_types = true) {
  for (const DType type : {DType::f32, DType::bf16}) {
    if (type == DType::bf16 && !both_types) continue;
    const std::string full = both_types ? name + '/' + std::string(enum_name(type)) : name;
    benchmark::RegisterBenchmark(full.c_str(), [=](benchmark::State& state) { body(state, type); })
        ->Unit(benchmark::kMillisecond)
        ->MinTime(0.2)
        ->UseRealTime();
  }
}

constexpr Shape large{8, 104, 104, 64}, half{8, 52, 52, 128}, whole{8, 104, 104, 128};

void add_elementwise() {
  for (const auto& [name, activation] : {std::pair{"leaky", Activation::leaky}, {"mish", Activation::mish}}) {
    add_benchmark(std::string("activation_forward/") + name, [=](benchmark::State& state, DType type) {
      const OwnedTensor x(large, type), y(large, type);
      measure(state, 2 * x.bytes(), [&] { on_cpu().activation_forward(activation, x, y); });
    });
    add_benchmark(std::string("activation_backward/") + name, [=](benchmark::State& state, DType type) {
      const OwnedTensor x(large, type), dy(large, type);
      measure(state, 3 * x.bytes(), [&] { on_cpu().activation_backward(activation, x, dy); });
    });
  }
  add_benchmark("add", [](benchmark::State& state, DType type) {
    const OwnedTensor a(large, type), b(large, type), y(large, type);
    measure(state, 3 * y.bytes(), [&] { on_cpu().add(a, b, y); });
  });
  add_benchmark(
      "cast/f32_to_bf16",
      [](benchmark::State& state, DType) {
        const OwnedTensor from(large, DType::f32), to(large, DType::bf16);
        measure(state, from.bytes() + to.bytes(), [&] { on_cpu().cast(from, to); });
      },
      false);
  add_benchmark(
      "cast/bf16_to_f32",
      [](benchmark::State& state, DType) {
        const OwnedTensor from(large, DType::bf16), to(large, DType::f32);
        measure(state, from.bytes() + to.bytes(), [&] { on_cpu().cast(from, to); });
      },
      false);
  add_benchmark("normalize_image", [](benchmark::State& state, DType type) {
    const Shape image{8, 416, 416, 3};
    const OwnedTensor pixels(image, DType::u8), x(image, type);
    measure(state, pixels.bytes() + x.bytes(), [&] { on_cpu().normalize_image(pixels, x); });
  });
}

void add_movement() {
  for (const bool accumulate : {false, true}) {
    const std::string suffix = accumulate ? "/accumulate" : "";
    add_benchmark("copy_channels/concat" + suffix, [=](benchmark::State& state, DType type) {
      const OwnedTensor from(large, type), to(whole, type);
      measure(state, (accumulate ? 3 : 2) * from.bytes(),
              [&] { on_cpu().copy_channels(from, 0, to, 64, 64, accumulate); });
    });
    add_benchmark("copy_channels/split" + suffix, [=](benchmark::State& state, DType type) {
      const OwnedTensor from(large, type), to({8, 104, 104, 32}, type);
      measure(state, (accumulate ? 3 : 2) * to.bytes(),
              [&] { on_cpu().copy_channels(from, 32, to, 0, 32, accumulate); });
    });
    add_benchmark("upsample_backward" + suffix, [=](benchmark::State& state, DType type) {
      const OwnedTensor dx(half, type), dy(whole, type);
      measure(state, dy.bytes() + (accumulate ? 2 : 1) * dx.bytes(),
              [&] { on_cpu().upsample_backward(2, dy, dx, accumulate); });
    });
  }
  add_benchmark("upsample_forward", [](benchmark::State& state, DType type) {
    const OwnedTensor x(half, type), y(whole, type);
    measure(state, x.bytes() + y.bytes(), [&] { on_cpu().upsample_forward(2, x, y); });
  });
}

void add_pooling() {
  const PoolSpec two{2, 2, 1};
  add_benchmark("max_pool_forward/2x2", [=](benchmark::State& state, DType type) {
    const OwnedTensor x(whole, type), y(half, type), argmax(half, DType::u8);
    measure(state, x.bytes() + y.bytes() + argmax.bytes(),
            [&] { on_cpu().max_pool_forward(two, x, y, argmax); });
  });
  add_benchmark("max_pool_forward/2x2/inference", [=](benchmark::State& state, DType type) {
    const OwnedTensor x(whole, type), y(half, type);
    measure(state, x.bytes() + y.bytes(), [&] { on_cpu().max_pool_forward(two, x, y, Tensor{}); });
  });
  add_benchmark("max_pool_backward/2x2", [=](benchmark::State& state, DType type) {
    const OwnedTensor dx(whole, type), y(half, type), dy(half, type), argmax(half, DType::u8);
    on_cpu().max_pool_forward(two, dx, y, argmax);
    measure(state, dx.bytes() + dy.bytes() + argmax.bytes(),
            [&] { on_cpu().max_pool_backward(two, dy, argmax, dx, false); });
  });
  for (const int window : {5, 9, 13}) {
    const PoolSpec spp{window, 1, window - 1};
    const Shape deep{8, 19, 19, 512};
    const std::string name = std::to_string(window) + 'x' + std::to_string(window);
    add_benchmark("max_pool_forward/" + name, [=](benchmark::State& state, DType type) {
      const OwnedTensor x(deep, type), y(deep, type), argmax(deep, DType::u8);
      measure(state, 2 * x.bytes() + argmax.bytes(), [&] { on_cpu().max_pool_forward(spp, x, y, argmax); });
    });
    add_benchmark("max_pool_backward/" + name, [=](benchmark::State& state, DType type) {
      const OwnedTensor dx(deep, type), y(deep, type), dy(deep, type), argmax(deep, DType::u8);
      on_cpu().max_pool_forward(spp, dx, y, argmax);
      measure(state, 2 * dx.bytes() + argmax.bytes(),
              [&] { on_cpu().max_pool_backward(spp, dy, argmax, dx, false); });
    });
  }
}

void add_parameters() {
  constexpr int count = 6056606;  // yolov4-tiny's, with 80 classes
  const Shape flat{1, 1, 1, count};
  const ParameterRange range{0, count, 1, 5e-4f};
  StepState step;
  step.apply = 1;
  step.rate = 1e-6f;
  step.gradient_factor = 1;
  step.ema_decay = 0.999f;
  for (const bool average : {false, true}) {
    const std::string suffix = average ? "/average" : "";
    add_benchmark(
        "sgd_step" + suffix,
        [=](benchmark::State& state, DType type) {
          const OwnedTensor values(flat, type), gradients(flat, type), first(flat, type), ema(flat, type);
          const OptimizerArrays arrays{.count = count,
                                       .values = values.floats(),
                                       .gradients = gradients.floats(),
                                       .first = first.floats(),
                                       .ema = average ? ema.floats() : nullptr};
          measure(state, (average ? 7 : 5) * values.bytes(), [&] {
            on_cpu().optimizer_step(Sgd{}, arrays, {&range, 1}, &step);
          });
        },
        false);
  }
  add_benchmark(
      "adamw_step/average",
      [=](benchmark::State& state, DType type) {
        const OwnedTensor values(flat, type), gradients(flat, type), first(flat, type), second(flat, type),
            ema(flat, type);
        for (int i = 0; i < count; ++i) second.floats()[i] = 1;
        const OptimizerArrays arrays{.count = count,
                                     .values = values.floats(),
                                     .gradients = gradients.floats(),
                                     .first = first.floats(),
                                     .second = second.floats(),
                                     .ema = ema.floats()};
        measure(state, 9 * values.bytes(), [&] {
          on_cpu().optimizer_step(AdamW{}, arrays, {&range, 1}, &step);
        });
      },
      false);
  add_benchmark(
      "sum_of_squares",
      [=](benchmark::State& state, DType type) {
        const OwnedTensor x(flat, type);
        measure(state, x.bytes(), [&] { benchmark::DoNotOptimize(cpu::sum_of_squares(x.floats(), count)); });
      },
      false);
}

/// What a call costs when there is next to nothing to do.
void add_overhead() {
  add_benchmark("add/tiny", [](benchmark::State& state, DType type) {
    const Shape tiny{1, 13, 13, 16};
    const OwnedTensor a(tiny, type), b(tiny, type), y(tiny, type);
    measure(state, 3 * y.bytes(), [&] { on_cpu().add(a, b, y); });
  });
}

}  // namespace
}  // namespace brightnet::benchmarks

int main(int argc, char** argv) {
  using namespace brightnet::benchmarks;
  add_elementwise();
  add_movement();
  add_pooling();
  add_parameters();
  add_overhead();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
