#include "train/setup/memory_advice.h"

#include <algorithm>

#include <fmt/format.h>

namespace brightnet {
namespace {

size_t peak(const RunConfig& config, const Model& model, Backend& backend) {
  return plan_run(config, model, backend, config.train.micro_batch).memory.peak();
}

std::string amount(size_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

/// The 16-bit precision of the backend's kind of device.
Precision half_precision(const Backend& backend) {
  return backend.works_beside_host() ? Precision::fp16 : Precision::bf16;
}

/// Collects the changed configurations that fit.
class Try {
 public:
  Try(const Model& model, Backend& backend, size_t free) : model_(model), backend_(backend), free_(free) {}
  bool operator()(const RunConfig& config, const std::string& argument) {
    const size_t bytes = peak(config, model_, backend_);
    if (bytes > free_) return false;
    fitting.push_back(argument + " (" + amount(bytes) + ')');
    return true;
  }
  std::vector<std::string> fitting;

 private:
  const Model& model_;
  Backend& backend_;
  size_t free_;
};

}  // namespace

size_t memory_budget(const RunConfig& config, const Backend& backend) {
  const double set = config.train.memory_fraction;
  const double fraction = set > 0 ? set : backend.works_beside_host() ? 0.9 : 0.6;
  return static_cast<size_t>(fraction * static_cast<double>(backend.free_bytes()));
}

std::vector<std::string> what_fits(const RunConfig& config, const Model& model, Backend& backend,
                                   size_t free) {
  Try fits(model, backend, free);
  for (int micro_batch = config.train.micro_batch - 1; micro_batch >= 1; --micro_batch) {
    if (config.train.batch % micro_batch != 0) continue;
    RunConfig smaller = config;
    smaller.train.micro_batch = micro_batch;
    if (fits(smaller, "--set train.micro_batch=" + std::to_string(micro_batch))) break;
  }
  if (compute_type(config.train.precision) == DType::f32) {
    RunConfig half = config;
    half.train.precision = half_precision(backend);
    fits(half, "--precision " + std::string(enum_name(half.train.precision)));
  }
  if (config.train.recompute == Recompute::none) {
    RunConfig recomputed = config;
    recomputed.train.recompute = Recompute::activations;
    fits(recomputed, "--set train.recompute=activations");
  }
  const auto sizes = config.input_sizes();
  const InputSize largest = *std::max_element(sizes.begin(), sizes.end());
  for (int height = (largest.height - 1) / model.stride * model.stride; height >= std::max(model.stride, 64);
       height -= model.stride) {
    const InputSize size = with_height(largest, height, model.stride);
    RunConfig smaller = config;
    smaller.train.size = size;
    smaller.train.sizes.clear();
    smaller.evaluate.size = 0;
    if (fits(smaller, "--set train.size=" + size.text() +
                          (config.train.sizes.empty() ? "" : " --set train.sizes=[]")))
      break;
  }
  return fits.fitting;
}

void check_memory(const RunConfig& config, const Model& model, Backend& backend) {
  const size_t free = backend.free_bytes(), asked = peak(config, model, backend);
  if (asked <= free) return;
  const auto sizes = config.input_sizes();
  std::string remedy;
  for (const auto& change : what_fits(config, model, backend, free))
    remedy += (remedy.empty() ? "What would fit: " : ", or ") + change;
  if (remedy.empty()) {
    remedy =
        "Neither a micro-batch of 1 nor a smaller input would fit alone: free some memory, or combine "
        "--set train.micro_batch=1 with a smaller train.size";
  }
  throw DeviceError(
      fmt::format(
          "there is not enough memory on {}: training '{}' with a micro-batch of {} at {} pixels in {} takes "
          "{}, and {} are free",
          backend.name(), model.name, config.train.micro_batch, std::max_element(sizes.begin(), sizes.end())->text(),
          enum_name(config.train.precision), amount(asked), amount(free)),
      "", remedy);
}

}  // namespace brightnet
