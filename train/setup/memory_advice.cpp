#include "train/setup/memory_advice.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "data/loader/loader.h"
#include "kernels/memory_need.h"

namespace brightnet {
namespace {

size_t peak(const RunConfig& config, const Model& model, Backend& backend) {
  return plan_run(config, model, backend, config.train.micro_batch).memory.peak();
}

/// Bytes of what the training images are loaded into.
size_t loader_bytes(const RunConfig& config, const Model& model) {
  Loader::Setup setup;
  setup.loader = config.loader;
  setup.batch = config.train.micro_batch;
  setup.sizes = config.input_sizes();
  setup.channels = model.channels;
  return Loader::buffer_bytes(setup);
}

/// The 16-bit precision of the backend's kind of device.
Precision half_precision(const Backend& backend) {
  return backend.works_beside_host() ? Precision::fp16 : Precision::bf16;
}

}  // namespace

double memory_fraction(const RunConfig& config, const Backend& backend) {
  const double set = config.train.memory_fraction;
  return set > 0 ? set : backend.works_beside_host() ? 0.9 : 0.6;
}

size_t memory_budget(const RunConfig& config, const Backend& backend) {
  return static_cast<size_t>(memory_fraction(config, backend) * backend.free_bytes());
}

std::vector<std::string> what_fits(const RunConfig& config, const Model& model, Backend& backend, size_t free,
                                   int ranks) {
  std::vector<std::string> fitting;
  const auto fits = [&](const RunConfig& changed, const std::string& argument) {
    if (changed.train.micro_batch < least_micro_batch(changed, model, ranks)) return false;
    const size_t bytes = peak(changed, model, backend);
    if (bytes > free) return false;
    fitting.push_back(argument + " (" + format_bytes(bytes) + ')');
    return true;
  };
  for (int micro_batch = config.train.micro_batch - 1; micro_batch >= 1; --micro_batch) {
    if (config.train.batch % micro_batch != 0) continue;
    RunConfig smaller = config;
    smaller.train.micro_batch = micro_batch;
    if (fits(smaller, "--set train.micro_batch=" + std::to_string(micro_batch))) break;
  }
  if (compute_type(config.train.precision) == DType::f32 && !config.train.quantize) {
    RunConfig half = config;
    half.train.precision = half_precision(backend);
    fits(half, "--precision " + std::string(enum_name(half.train.precision)));
  }
  if (config.train.recompute == Recompute::none) {
    RunConfig recomputed = config;
    recomputed.train.recompute = Recompute::activations;
    fits(recomputed, "--set train.recompute=activations");
  }
  const int stride =
      config.distillation ? std::lcm(model.stride, config.distillation->teacher.stride) : model.stride;
  const auto sizes = config.input_sizes();
  const InputSize largest = *std::max_element(sizes.begin(), sizes.end());
  // Activations grow with the pixels and parameters do not, so nothing larger fits, or hardly: planning each size of a
  // large input would take minutes.
  const double ratio = std::sqrt(free / static_cast<double>(peak(config, model, backend)));
  const int most = std::min(largest.height - 1, static_cast<int>(ratio * largest.height) + 2 * stride);
  for (int height = most / stride * stride; height >= std::max(stride, 64); height -= stride) {
    const InputSize size = with_height(largest, height, stride);
    RunConfig smaller = config;
    smaller.train.size = size;
    smaller.train.sizes.clear();
    smaller.evaluate.size = 0;
    if (fits(smaller,
             "--set train.size=" + size.text() + (config.train.sizes.empty() ? "" : " --set train.sizes=[]")))
      break;
  }
  return fitting;
}

void check_parameter_memory(const Model& model, const ParameterLayout& layout, const Backend& backend) {
  const MemoryNeed need{(layout.floats() + 2 * layout.trainable_floats()) * sizeof(float),
                        layout.floats() * sizeof(float)};
  require_memory(
      fmt::format("training '{}', which has {} parameters, for these, their gradients and a moment alone",
                  model.name, layout.trainable_parameters()),
      need, backend, [] { return "Check the filters and sizes of its layers."; });
}

void check_memory(const RunConfig& config, const Model& model, Backend& backend, int processes) {
  const auto sizes = config.input_sizes();
  MemoryNeed need{peak(config, model, backend)};
  // The loader itself asks for what it takes beside a GPU.
  if (!backend.works_beside_host()) need.host = loader_bytes(config, model);
  const auto remedy = [&] {
    const size_t share = backend.free_bytes() / processes;
    std::string changes;
    for (const auto& change :
         what_fits(config, model, backend, share - std::min(share, need.host), processes))
      changes += (changes.empty() ? "What would fit: " : ", or ") + change;
    if (!changes.empty()) return changes;
    const int least = least_micro_batch(config, model, processes);
    return fmt::format(
        "Neither a micro-batch of {} nor a smaller input would fit alone: free some memory, or combine "
        "--set train.micro_batch={} with a smaller train.size",
        least, least);
  };
  require_memory(
      fmt::format("training '{}' with a micro-batch of {} at {} pixels in {}", model.name,
                  config.train.micro_batch.value(), std::max_element(sizes.begin(), sizes.end())->text(),
                  enum_name(config.train.precision)),
      need, backend, remedy, processes);
}

}  // namespace brightnet
