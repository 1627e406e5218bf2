#include "bench/benchmark.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "bench/measured_config.h"
#include "core/clock.h"
#include "core/random.h"
#include "core/threads.h"
#include "kernels/memory_need.h"
#include "train/loop/device_memory.h"
#include "train/loop/training_step.h"

namespace brightnet {
namespace {

constexpr int boxes_per_image = 8;
constexpr int warm_up_rounds = 2, profiled_rounds = 3, queued_steps = 10;

// Multiplications and additions of a convolution's forward and backward passes.
double training_flops(const ConvolutionSpec& spec) {
  return spec.flops() * (spec.input_gradient ? 3 : 2);
}

/// Seconds that a call takes, including the device's work.
template <typename Call>
double timed(Backend& backend, Call&& call) {
  backend.synchronize();
  const double begin = seconds_now();
  call();
  backend.synchronize();
  return seconds_now() - begin;
}

/// What BareConvolutions allocates.
size_t bytes_of_bare_convolutions(const Network& network) {
  size_t all = 0, gradient = 0, workspace = 0;
  for (int i = 0; i < network.layer_count(); ++i) {
    const ConvolutionSpec* spec = network.convolution(i);
    if (!spec) continue;
    const size_t input = spec->input.count(), output = spec->output.count(), element = size_of(spec->type);
    all += (input + output + spec->weight_count()) * element + spec->weight_count() * sizeof(float);
    gradient = std::max({gradient, input * element, output * element});
    workspace = std::max(workspace, network.convolution_workspace(i));
  }
  return all + 2 * gradient + workspace;
}

/// One training step on random data.
class BenchmarkStep {
 public:
  BenchmarkStep(const RunConfig& config, const Model& model, Backend& backend,
                const StepBenchmarkOptions& options)
      : backend_(backend),
        config_(measured_config(config, options.batch, options.size, options.precision)),
        layout_(model),
        step_({.config = config_, .model = model, .layout = layout_, .backend = backend, .evaluates = false},
              initial_parameters(model, layout_, config.train.seed)),
        network_(step_.network(options.size)),
        pixels_(nullptr, [&backend](uint8_t* pixels) { backend.release_host(pixels); }) {
    // A small rate, so that all rounds compute on nearly the same weights.
    step_.optimizer().set_rate(config.optimizer.rate * 1e-3f);
    make_data(model, options);
  }

  struct Times {
    double forward, backward, update;
  };
  Times run() {
    Times times{};
    times.forward = timed(backend_, [&] {
      network_.set_batch(batch_.pixels, batch_.truths);
      network_.forward();
    });
    times.backward = timed(
        backend_, [&] { network_.backward(step_.gradient_scale(), false, step_.optimizer().losses()); });
    times.update = timed(backend_, [&] { step_.update_only(); });
    return times;
  }

  /// Seconds per step when `count` of them are launched as in training.
  double run_queued(int count) {
    const double seconds = timed(backend_, [&] {
      for (int i = 0; i < count; ++i) {
        backend_.finish_uploads();
        step_.pass(batch_, 0);
        step_.update();
      }
    });
    return seconds / count;
  }

  Network& network() { return network_; }
  const ParameterLayout& layout() const { return layout_; }

 private:
  void make_data(const Model& model, const StepBenchmarkOptions& options) {
    Random random(0, Purpose::test);
    const auto values = options.size.pixels() * static_cast<size_t>(model.channels);
    const size_t bytes = values * options.batch;
    pixels_.reset(static_cast<uint8_t*>(backend_.allocate_host(bytes)));
    for (size_t i = 0; i < bytes; ++i) pixels_.get()[i] = static_cast<uint8_t>(random.below(256));
    batch_.pixels = pixels_.get();
    batch_.count = options.batch;
    batch_.height = options.size.height;
    batch_.width = options.size.width;
    batch_.channels = model.channels;
    batch_.truths.resize(options.batch);
    for (auto& truths : batch_.truths) {
      for (int i = 0; i < boxes_per_image; ++i) {
        Truth truth;
        truth.box = {random.uniform(0.2f, 0.8f), random.uniform(0.2f, 0.8f), random.uniform(0.05f, 0.4f),
                     random.uniform(0.05f, 0.4f)};
        truth.class_id = random.below(model.classes);
        truths.push_back(truth);
      }
    }
  }

  Backend& backend_;
  RunConfig config_;
  ParameterLayout layout_;
  TrainingStep step_;
  Network& network_;
  std::unique_ptr<uint8_t, std::function<void(uint8_t*)>> pixels_;
  Batch batch_;
};

/// Plans what a BenchmarkStep and its bare convolutions take, before any of it is allocated.
void check_memory_of(const RunConfig& given, const Model& model, Backend& backend,
                     const StepBenchmarkOptions& options) {
  const RunConfig config = measured_config(given, options.batch, options.size, options.precision);
  const ParameterLayout layout(model);
  const Parameters parameters{.layout = &layout};
  const Network network({.model = &model,
                         .backend = &backend,
                         .parameters = &parameters,
                         .batch = options.batch,
                         .height = options.size.height,
                         .width = options.size.width,
                         .precision = options.precision,
                         .mode = Mode::train,
                         .recompute = recomputes(config.train.recompute)});
  MemoryNeed need{plan_run_memory(config, layout, network.memory().arena()).peak()};
  if (!options.steps_only) need.device += bytes_of_bare_convolutions(network);
  need.host = layout.floats() * sizeof(float) +
              options.batch * static_cast<size_t>(options.size.pixels()) * model.channels;
  require_memory(fmt::format("a step of '{}' with a batch of {} at {} pixels in {}{}", model.name,
                             options.batch, options.size.text(), enum_name(options.precision),
                             options.steps_only ? "" : ", with its convolutions alone"),
                 need, backend, [] { return "Give a smaller --batch or --size, or --steps-only."; });
}

/// The convolutions of a network alone. As in a network, each has its own input and output and all share the
/// workspace, of which each has what it has in the network; nothing is reordered, normalised or updated.
class BareConvolutions {
 public:
  BareConvolutions(const Network& network, Backend& backend) : backend_(backend), network_(network) {
    size_t workspace = 0, gradient = 0, channels = 0;
    for (int i = 0; i < network.layer_count(); ++i) {
      const ConvolutionSpec* spec = network.convolution(i);
      if (!spec) continue;
      Item item{i, *spec, backend.plan_convolution(*spec), {}, {}, {}, {}};
      item.x = filled(spec->input.count(), spec->type);
      item.y = filled(spec->output.count(), spec->type);
      item.weights = DeviceBuffer(backend, std::max<size_t>(64, item.convolution->weight_bytes()));
      workspace = std::max(workspace, network.convolution_workspace(i));
      gradient = std::max({gradient, spec->input.count(), spec->output.count()});
      channels = std::max(channels, static_cast<size_t>(spec->output.c));
      items_.push_back(std::move(item));
    }
    workspace_ = DeviceBuffer(backend, std::max<size_t>(64, workspace));
    // Layers kept in fp32 use the same buffers, so these have room for either type.
    const DType type = items_.empty() ? DType::f32 : items_[0].spec.type;
    const bool mixed =
        std::any_of(items_.begin(), items_.end(), [&](const Item& i) { return i.spec.type != type; });
    bias_ = filled(channels, DType::f32);
    dy_ = filled(gradient, mixed ? DType::f32 : type);
    dx_ = filled(gradient, mixed ? DType::f32 : type);
    for (auto& item : items_) {
      item.convolution->bind(item.weights.data(), workspace_.data());
      const size_t room = network.convolution_workspace(item.layer);
      if (room > item.convolution->workspace_bytes()) item.convolution->extend_workspace(room);
      // A backend may compute with the master weights themselves.
      item.masters = filled(item.spec.weight_count(), DType::f32);
      item.convolution->prepare(item.masters.floats());
    }
  }

  /// Seconds of each layer, forward through the list and back; zero where a layer has no convolution.
  std::vector<double> run() {
    std::vector<double> seconds(static_cast<size_t>(network_.layer_count()), 0.0);
    for (auto& item : items_) {
      seconds[item.layer] += timed(backend_, [&] {
        item.convolution->forward(item.input(), item.spec.bias ? bias_.floats() : nullptr,
                                  {item.y.data(), item.spec.output, item.spec.type});
      });
    }
    for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
      const Tensor dy{dy_.data(), item->spec.output, item->spec.type};
      seconds[item->layer] += timed(backend_, [&] {
        item->convolution->backward_weights(item->input(), dy, nullptr, false);
        if (item->spec.input_gradient)
          item->convolution->backward_data(dy, {dx_.data(), item->spec.input, item->spec.type});
      });
    }
    return seconds;
  }

 private:
  struct Item {
    int layer;
    ConvolutionSpec spec;
    std::unique_ptr<Convolution> convolution;
    DeviceBuffer x, y, weights, masters;
    Tensor input() const { return {x.data(), spec.input, spec.type}; }
  };

  // Small values of both signs, neither denormal nor growing in any type; 2^20 of them, repeated.
  DeviceBuffer filled(size_t count, DType type) {
    Random random(1, Purpose::test, 0, ++drawn_);
    DeviceBuffer buffer(backend_, std::max<size_t>(64, count * size_of(type)));
    std::vector<float> values(std::min(count, size_t{1} << 20));
    for (auto& value : values) value = random.uniform(-0.1f, 0.1f);
    const DeviceBuffer wide(backend_, std::max<size_t>(64, values.size() * sizeof(float)));
    backend_.upload(wide.data(), values.data(), values.size() * sizeof(float));
    const Shape flat{1, 1, 1, static_cast<int>(values.size())};
    backend_.cast({wide.data(), flat, DType::f32}, {buffer.data(), flat, type});
    auto* bytes = static_cast<std::byte*>(buffer.data());
    for (size_t at = values.size(); at < count; at += values.size())
      backend_.copy(bytes + at * size_of(type), bytes, std::min(values.size(), count - at) * size_of(type));
    backend_.synchronize();
    return buffer;
  }

  Backend& backend_;
  const Network& network_;
  std::vector<Item> items_;
  DeviceBuffer workspace_, bias_, dy_, dx_;
  uint64_t drawn_ = 0;
};

std::vector<LayerBenchmark> layer_table(BenchmarkStep& step, const Model& model,
                                        const std::vector<std::vector<double>>& floors) {
  Network& network = step.network();
  std::vector<LayerTime> times;
  network.profile(&times);
  for (int round = 0; round < profiled_rounds; ++round) step.run();
  network.profile(nullptr);
  const ParameterLayout& layout = step.layout();
  std::vector<LayerBenchmark> layers;
  for (int i = 0; i < network.layer_count(); ++i) {
    const auto& description = model.layers[i];
    LayerBenchmark layer{
        .name = description.name, .kind = Model::kind(description), .output = network.output_shape(i)};
    layer.forward = times[i].forward / profiled_rounds;
    layer.backward = times[i].backward / profiled_rounds;
    layer.floor = median(floors[i]);
    if (const ConvolutionSpec* spec = network.convolution(i)) layer.flops = spec->flops();
    for (const auto& entry : layout.entries()) {
      if (entry.layer == i && entry.offset < layout.trainable_floats())
        layer.gradient_bytes += entry.count * sizeof(float);
    }
    layer.implementation = network.implementation(i);
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

StepBenchmark measure_step(const RunConfig& config, const Model& model, Backend& backend,
                           const StepBenchmarkOptions& options) {
  StepBenchmark result;
  result.device = backend.name();
  result.precision = options.precision;
  result.batch = options.batch;
  result.size = options.size;
  result.recompute = recomputes(config.train.recompute);
  result.threads = compute_threads();
  check_memory_of(config, model, backend, options);
  BenchmarkStep step(config, model, backend, options);
  result.peak_bytes = backend.peak_bytes();
  for (int i = 0; i < step.network().layer_count(); ++i) {
    if (const ConvolutionSpec* spec = step.network().convolution(i)) result.flops += training_flops(*spec);
  }
  std::optional<BareConvolutions> bare;
  if (!options.steps_only) bare.emplace(step.network(), backend);

  for (int round = 0; round < warm_up_rounds; ++round) {
    step.run();
    if (bare) bare->run();
  }
  if (backend.works_beside_host()) step.run_queued(warm_up_rounds + 1);
  std::vector<double> steps, forwards, backwards, updates, floors;
  std::vector<std::vector<double>> layer_floors(static_cast<size_t>(step.network().layer_count()));
  const double begin = seconds_now();
  while (result.rounds < options.min_rounds || seconds_now() - begin < options.seconds) {
    const auto times = step.run();
    forwards.push_back(times.forward);
    backwards.push_back(times.backward);
    updates.push_back(times.update);
    steps.push_back(backend.works_beside_host() ? step.run_queued(queued_steps)
                                                : times.forward + times.backward + times.update);
    ++result.rounds;
    if (!bare) continue;
    const auto seconds = bare->run();
    double sum = 0;
    for (size_t i = 0; i < seconds.size(); ++i) {
      layer_floors[i].push_back(seconds[i]);
      sum += seconds[i];
    }
    floors.push_back(sum);
  }
  result.step = median(steps);
  result.forward = median(forwards);
  result.backward = median(backwards);
  result.update = median(updates);
  if (!bare) return result;
  result.floor = median(floors);
  result.layers = layer_table(step, model, layer_floors);
  return result;
}

}  // namespace brightnet
