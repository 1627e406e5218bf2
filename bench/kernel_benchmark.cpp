#include "bench/kernel_benchmark.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "bench/benchmark.h"
#include "core/clock.h"
#include "core/random.h"
#include "kernels/memory_need.h"
#include "layers/parameters.h"
#include "train/optimizer/optimizer.h"

namespace brightnet {
namespace {

constexpr int rounds = 9, calls_of_round = 5;

using Work = std::function<void()>;

/// Three tensors of one shape and the measurements on them, the first of which is a copy.
class Bench {
 public:
  Bench(Backend& device, DType type, const Shape& shape, std::vector<KernelBenchmark>& results)
      : backend(device), results_(results) {
    // These three and up to two more that an operation asks for; their values come from the host.
    require_memory("measuring operations on tensors of " + to_string(shape),
                   {5 * shape.count() * size_of(type), shape.count() * sizeof(float)}, device,
                   [] { return "Give a smaller --batch."; });
    for (Tensor* tensor : {&x, &y, &z}) {
      memory_.emplace_back(backend, shape.count() * size_of(type));
      *tensor = {memory_.back().data(), shape, type};
    }
    fill(x, random_values(shape.count(), -1.0f, 1.0f));
    backend.copy(z.data, x.data, x.bytes());
    measure("copy", 2 * bytes(), [&] { backend.copy(y.data, x.data, x.bytes()); });
  }

  /// Bytes of one tensor.
  double bytes() const { return x.bytes(); }

  DeviceBuffer zeros(size_t bytes) const {
    DeviceBuffer buffer(backend, bytes);
    backend.zero(buffer.data(), bytes);
    return buffer;
  }
  template <typename T>
  DeviceBuffer uploaded(const std::vector<T>& values) const {
    DeviceBuffer buffer(backend, values.size() * sizeof(T));
    backend.upload(buffer.data(), values.data(), buffer.bytes());
    return buffer;
  }
  static std::vector<float> random_values(size_t count, float low, float high) {
    Random random(1, Purpose::test);
    std::vector<float> values(count);
    for (float& value : values) value = random.uniform(low, high);
    return values;
  }
  void fill(const Tensor& tensor, const std::vector<float>& values) const {
    if (tensor.type == DType::f32) return backend.upload(tensor.data, values.data(), tensor.bytes());
    const DeviceBuffer wide = uploaded(values);
    backend.cast({wide.data(), tensor.shape, DType::f32}, tensor);
    backend.synchronize();
  }

  void measure(const std::string& name, double bytes, const Work& call) {
    call();
    std::vector<double> seconds;
    for (int round = 0; round < rounds; ++round) seconds.push_back(seconds_of(call));
    add(name, bytes, median(seconds));
  }

  /// The additional time of `with` over `without`, for an operation that cannot be called alone; not recorded
  /// when negligible, because the operation is fused.
  void measure_addition(const std::string& name, double bytes, const Work& with, const Work& without) {
    constexpr double negligible = 0.05;
    with();
    without();
    std::vector<double> more, base;
    for (int round = 0; round < rounds; ++round) {
      base.push_back(seconds_of(without));
      more.push_back(seconds_of(with) - base.back());
    }
    if (median(more) > negligible * median(base)) add(name, bytes, median(more));
  }

  /// An operation that overwrites its destination, or accumulates and so reads it as well.
  void measure_both(const std::string& name, double bytes, double destination_bytes,
                    const std::function<void(bool accumulate)>& call) {
    measure(name, bytes, [&] { call(false); });
    measure(name + " +=", bytes + destination_bytes, [&] { call(true); });
  }

  Backend& backend;
  Tensor x, y, z;

 private:
  void add(const std::string& name, double bytes, double seconds) {
    const double rate = bytes / seconds;
    if (copy_rate_ == 0) copy_rate_ = rate;
    results_.push_back({name, x.shape, bytes, seconds, rate / copy_rate_});
  }
  double seconds_of(const Work& call) const {
    backend.synchronize();
    const double begin = seconds_now();
    for (int i = 0; i < calls_of_round; ++i) call();
    backend.synchronize();
    return (seconds_now() - begin) / calls_of_round;
  }

  std::vector<DeviceBuffer> memory_;
  std::vector<KernelBenchmark>& results_;
  double copy_rate_ = 0;
};

void measure_batch_norm(Bench& bench) {
  Backend& backend = bench.backend;
  const Shape& shape = bench.x.shape;
  const auto c = static_cast<size_t>(shape.c);
  const DeviceBuffer channels = bench.uploaded(std::vector<float>(8 * c, 1.0f)),
                     workspace(backend, backend.channel_workspace(shape) + 64);
  float* const ones = channels.floats();
  BatchNormForward forward{.y = bench.x, .z = bench.z};
  forward.scale = ones;
  forward.shift = ones + c;
  forward.running_mean = ones + 2 * c;
  forward.running_variance = ones + 3 * c;
  forward.mean = ones + 4 * c;
  forward.inverse_std = ones + 5 * c;
  forward.activation = Activation::mish;
  forward.workspace = workspace.data();
  BatchNormForward again = forward;
  again.statistics_known = true;
  BatchNormBackward backward{.y = bench.x, .dz = bench.y, .dy = bench.z};
  backward.scale = forward.scale;
  backward.shift = forward.shift;
  backward.mean = forward.mean;
  backward.inverse_std = forward.inverse_std;
  backward.scale_gradient = ones + 6 * c;
  backward.shift_gradient = ones + 7 * c;
  backward.accumulate = false;
  backward.activation = Activation::mish;
  backward.workspace = workspace.data();
  bench.measure("batch_norm forward", 3 * bench.bytes(), [&] { backend.batch_norm_forward(forward); });
  bench.measure("batch_norm apply", 2 * bench.bytes(), [&] { backend.batch_norm_forward(again); });
  bench.measure("batch_norm backward", 5 * bench.bytes(), [&] { backend.batch_norm_backward(backward); });
  bench.measure("bias_gradient", bench.bytes(), [&] {
    backend.bias_gradient(bench.x, backward.shift_gradient, false, workspace.data(), nullptr);
  });
}

/// A convolution for inference with the memory that it needs.
struct PlannedConvolution {
  std::unique_ptr<Convolution> convolution;
  DeviceBuffer weights, workspace;

  PlannedConvolution(Backend& backend, const ConvolutionSpec& spec, const float* master)
      : convolution(backend.plan_convolution(spec)),
        weights(backend, convolution->weight_bytes() + 64),
        workspace(backend, convolution->workspace_bytes() + 64) {
    convolution->bind(weights.data(), workspace.data());
    convolution->prepare(master);
  }
};

/// Bias and activation at inference, fused or not: the additional time of a 1 × 1 convolution with them. A
/// separate pass has to read and write the output.
void measure_epilogue(Bench& bench) {
  const Shape& shape = bench.x.shape;
  const DeviceBuffer master =
      bench.uploaded(Bench::random_values(shape.c * static_cast<size_t>(shape.c), -0.1f, 0.1f));
  const ConvolutionSpec bare{.input = shape, .output = shape, .type = bench.x.type, .training = false};
  ConvolutionSpec whole = bare;
  whole.bias = true;
  whole.activation = Activation::mish;
  const PlannedConvolution with(bench.backend, whole, master.floats()),
      without(bench.backend, bare, master.floats());
  bench.measure_addition(
      "bias and activation", 2 * bench.bytes(),
      [&] { with.convolution->forward(bench.x, master.floats(), bench.z); },
      [&] { without.convolution->forward(bench.x, nullptr, bench.z); });
}

void measure_elementwise(Bench& bench) {
  Backend& backend = bench.backend;
  const Tensor &x = bench.x, &y = bench.y, &z = bench.z;
  const double all = bench.bytes(), count = x.count();
  const auto mish = Activation::mish;
  bench.measure("activation forward", 2 * all, [&] { backend.activation_forward(mish, x, z); });
  bench.measure("activation backward", 3 * all, [&] { backend.activation_backward(mish, x, z); });
  bench.measure("add", 3 * all, [&] { backend.add(x, y, z); });
  bench.measure_both("multiply", 3 * all, all,
                     [&](bool accumulate) { backend.multiply(x, y, z, accumulate); });
  if (x.type != DType::f32) {
    const DeviceBuffer wide = bench.zeros(x.count() * sizeof(float));
    const Tensor master{wide.data(), x.shape, DType::f32};
    bench.measure("cast to fp32", 4 * count + all, [&] { backend.cast(x, master); });
    bench.measure("cast from fp32", 4 * count + all, [&] { backend.cast(master, z); });
  }
  // A photo's three channels, and those that the device adds: as many pixels as z has room for.
  const int channels = backend.padded_channels(3, x.type);
  Shape photo{x.shape.n, x.shape.h, x.shape.w * x.shape.c / channels, 3}, image = photo;
  image.c = channels;
  const DeviceBuffer pixels = bench.zeros(photo.count());
  bench.measure("normalize_image", static_cast<double>(photo.count() + image.count() * size_of(x.type)), [&] {
    backend.normalize_image({pixels.data(), photo, DType::u8}, {z.data, image, z.type});
  });
}

void measure_movement(Bench& bench) {
  Backend& backend = bench.backend;
  const Tensor &x = bench.x, &z = bench.z;
  const Shape s = x.shape;
  const double all = bench.bytes(), quarter = all / 4, places = static_cast<double>(x.count()) / 4;
  const DeviceBuffer small_memory = bench.zeros(x.bytes() / 4), place_memory = bench.zeros(x.count() / 4);
  const Tensor small{small_memory.data(), {s.n, s.h / 2, s.w / 2, s.c}, x.type};
  const Tensor argmax{place_memory.data(), small.shape, DType::u8};
  const Tensor deep{z.data, {s.n, s.h / 2, s.w / 2, 4 * s.c}, x.type};
  const PoolSpec pool{2, 2, 0};
  bench.measure_both("copy_channels", all, all / 2,
                     [&](bool accumulate) { backend.copy_channels(x, 0, z, s.c / 2, s.c / 2, accumulate); });
  bench.measure("max_pool forward", all + quarter + places,
                [&] { backend.max_pool_forward(pool, x, small, argmax); });
  bench.measure_both("max_pool backward", all + quarter + places, all,
                     [&](bool accumulate) { backend.max_pool_backward(pool, small, argmax, z, accumulate); });
  bench.measure("upsample forward", all + quarter, [&] { backend.upsample_forward(2, small, z); });
  bench.measure_both("upsample backward", all + quarter, quarter,
                     [&](bool accumulate) { backend.upsample_backward(2, x, small, accumulate); });
  bench.measure("space_to_depth forward", 2 * all, [&] { backend.space_to_depth(2, x, deep); });
  bench.measure_both("space_to_depth backward", 2 * all, all,
                     [&](bool accumulate) { backend.space_to_depth_backward(2, deep, bench.y, accumulate); });
}

/// The shape is the pyramid's output: three pools of the input, followed by the input.
void measure_pyramid(Bench& bench) {
  constexpr int windows[] = {13, 9, 5};
  Backend& backend = bench.backend;
  const Shape& s = bench.y.shape;
  const Shape quarter{s.n, s.h, s.w, s.c / 4};
  const DeviceBuffer places = bench.zeros(std::size(windows) * quarter.count()),
                     workspace(backend, backend.spatial_pyramid_workspace(quarter, bench.x.type) + 64);
  std::vector<Tensor> argmax;
  for (size_t i = 0; i < std::size(windows); ++i)
    argmax.push_back({static_cast<std::byte*>(places.data()) + i * quarter.count(), quarter, DType::u8});
  const Tensor x{bench.x.data, quarter, bench.x.type}, dx{bench.z.data, quarter, bench.x.type};
  const double bytes = 1.25 * bench.bytes() + places.bytes();
  bench.measure("spatial_pyramid forward", bytes,
                [&] { backend.spatial_pyramid_forward(windows, x, bench.y, argmax, workspace.data()); });
  bench.measure_both("spatial_pyramid backward", bytes, bench.bytes() / 4, [&](bool accumulate) {
    backend.spatial_pyramid_backward(windows, bench.y, argmax, dx, accumulate, workspace.data());
  });
}

YoloHead yolov4_head(int input) {
  constexpr Anchor anchors[] = {{12, 16},  {19, 36},   {40, 28},   {36, 75},  {76, 55},
                                {72, 146}, {142, 110}, {192, 243}, {459, 401}};
  YoloHead head;
  head.classes = 80;
  head.anchor_count = static_cast<int>(std::size(anchors));
  std::copy(std::begin(anchors), std::end(anchors), head.anchors);
  head.mask_count = 3;
  for (int i = 0; i < head.mask_count; ++i) head.mask[i] = i;
  head.input_width = head.input_height = input;
  head.scale_xy = 1.2f;
  head.iou_threshold = 0.213f;
  head.max_delta = 5;
  return head;
}

/// Logits like a trained network's: one prediction in 64 may be an object.
std::vector<float> predictions_of(const YoloHead& head, size_t count) {
  std::vector<float> logits = Bench::random_values(count, -4.0f, 4.0f);
  const auto values = static_cast<size_t>(head.values());
  for (size_t i = 0; i < count / values; ++i) {
    if (i % 64 != 0) logits[i * values + 4] = -8;
  }
  return logits;
}

/// These read one value of most predictions, counted as a 32-byte sector, the smallest memory access. They
/// are not bound by memory alone: the loss compares every box with every ground-truth box, and detection
/// waits for the candidates to be copied to the host.
void measure_head(Bench& bench) {
  constexpr int truths_of_image = 8;  // COCO has 7.3
  constexpr double sector = 32;
  Backend& backend = bench.backend;
  const Shape& shape = bench.x.shape;
  const YoloHead head = yolov4_head(8 * shape.h);
  bench.fill(bench.x, predictions_of(head, bench.x.count()));
  Random random(2, Purpose::test);
  std::vector<Truth> truths;
  std::vector<int> offsets{0};
  for (int image = 0; image < shape.n; ++image, offsets.push_back(static_cast<int>(truths.size()))) {
    for (int i = 0; i < truths_of_image; ++i) {
      truths.push_back(
          {{random.uniform(), random.uniform(), random.uniform(0.02f, 0.4f), random.uniform(0.02f, 0.4f)},
           static_cast<int>(random.below(head.classes))});
    }
  }
  const DeviceBuffer truth_memory = bench.uploaded(truths), offset_memory = bench.uploaded(offsets),
                     loss = bench.zeros(sizeof(YoloLoss));
  const DeviceBuffer workspace(
      backend,
      std::max(backend.yolo_workspace(head, shape), backend.yolo_detect_workspace(head, shape)) + 64);
  const YoloLossPass pass{.predictions = bench.x,
                          .gradient = bench.z,
                          .truths = {static_cast<const Truth*>(truth_memory.data()),
                                     static_cast<const int*>(offset_memory.data())},
                          .scale = {},
                          .loss = static_cast<YoloLoss*>(loss.data()),
                          .workspace = workspace.data()};
  const double read = sector * shape.pixels() * head.mask_count;
  std::vector<std::vector<Detection>> found(static_cast<size_t>(shape.n));
  const auto detect = [&](float threshold) {
    for (auto& of_image : found) of_image.clear();
    backend.yolo_detect(head, bench.x, threshold, found, workspace.data());
  };
  bench.measure("yolo_loss", read + bench.bytes(), [&] { backend.yolo_loss(head, pass); });
  // A few hundred candidates per image; then more than max_candidates, of which the best are selected.
  bench.measure("yolo_detect", read, [&] { detect(0.9f); });
  bench.measure("yolo_detect pre-selection", read, [&] { detect(0.001f); });
}

/// As many ranges as yolov4 has: weights, with decay, and scales and shifts, without.
std::vector<ParameterRange> ranges_of(size_t count) {
  constexpr size_t ranges = 3 * 110;
  const auto edge = [&](size_t i) { return count * i / ranges / 16 * 16; };
  std::vector<ParameterRange> all;
  for (size_t i = 0; i < ranges; ++i)
    all.push_back({.begin = edge(i), .end = edge(i + 1), .decay = i % 3 == 0 ? 5e-4f : 0.0f});
  return all;
}

/// Traffic in arrays of parameters: values, gradients, moments, average.
template <typename Rule>
void measure_rule(Bench& bench, OptimizerArrays arrays, const DeviceRanges& ranges, const StepState* state) {
  if (Rule::moments < 2) arrays.second = nullptr;
  bench.measure(fmt::format("{}_step with EMA", Rule::name), (5 + 2 * Rule::moments) * bench.bytes(),
                [&] { bench.backend.optimizer_step(Rule{}, arrays, ranges.span(), state); });
}

void measure_optimizer(Bench& bench) {
  Backend& backend = bench.backend;
  const size_t count = bench.x.count();
  StepState first_state;
  first_state.rate = 1e-3f;
  const DeviceRanges ranges(backend, ranges_of(count));
  const DeviceBuffer second = bench.zeros(bench.x.bytes()), average = bench.zeros(bench.x.bytes()),
                     state_memory = bench.uploaded(std::vector{first_state}),
                     workspace(backend, step_workspace_bytes);
  auto* const state = static_cast<StepState*>(state_memory.data());
  const OptimizerArrays arrays{.count = count,
                               .values = bench.z.as<float>(),
                               .gradients = bench.x.as<float>(),
                               .first = bench.y.as<float>(),
                               .second = second.floats(),
                               .ema = average.floats()};
  const AdamW adam;
  const StepPolicy policy{.beta1 = adam.beta1, .beta2 = adam.beta2, .ema_decay = 0.9998f};
  const StepEvidence evidence{.gradients = arrays.gradients, .gradient_count = count};
  // check_step() runs first and lets the steps be applied.
  bench.measure("check_step", bench.bytes(),
                [&] { backend.check_step(policy, evidence, state, workspace.data()); });
  const auto measure = [&]<typename... Rules>(const std::variant<Rules...>&) {
    (measure_rule<Rules>(bench, arrays, ranges, state), ...);
  };
  measure(OptimizerRule());
}

}  // namespace

std::vector<KernelBenchmark> measure_kernels(Backend& backend, Precision precision, int batch,
                                             const KernelWorkload& workload) {
  struct Group {
    DType type;
    Shape shape;
    std::vector<void (*)(Bench&)> measure;
  };
  const DType type = compute_type(precision);
  const auto shape = [&](int stride, int channels) {
    return Shape{batch, workload.input / stride, workload.input / stride, channels};
  };
  const std::vector<void (*)(Bench&)> of_layers{measure_batch_norm, measure_epilogue, measure_elementwise,
                                                measure_movement};
  std::vector<KernelBenchmark> all;
  for (const Group& group :
       {Group{type, shape(2, 64), of_layers}, Group{type, shape(8, 256), of_layers},
        Group{type, shape(32, 2048), {measure_pyramid}}, Group{type, shape(8, 255), {measure_head}},
        Group{DType::f32, {1, 1, 1, workload.parameters}, {measure_optimizer}}}) {
    Bench bench(backend, group.type, group.shape, all);
    for (const auto& measure : group.measure) measure(bench);
  }
  return all;
}

}  // namespace brightnet
