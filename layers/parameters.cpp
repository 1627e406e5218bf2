#include "layers/parameters.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/alignment.h"
#include "core/random.h"
#include "core/require_memory.h"

namespace brightnet {
namespace {

constexpr size_t alignment = cache_line / sizeof(float);

// RetinaNet's prior (Lin et al. 2017, §4.1) for the objectness: about one prediction in a hundred.
constexpr float objectness_prior = 0.01f;

void initialize_head_bias(const YoloHead& head, float* bias) {
  const float objectness = std::log(objectness_prior / (1 - objectness_prior));
  const float class_logit = head.classes > 1 ? -std::log(static_cast<float>(head.classes) - 1) : 0.0f;
  for (int anchor = 0; anchor < head.mask_count; ++anchor) {
    float* prediction = bias + static_cast<size_t>(anchor) * (5 + head.classes);
    prediction[4] = objectness;
    std::fill(prediction + 5, prediction + 5 + head.classes, class_logit);
  }
}

}  // namespace

ParameterLayout::ParameterLayout(const Model& model) {
  std::vector<ParameterEntry> statistics;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const LayerDescription& layer = model.layers[i];
    for (const ParameterSpec& spec : parameters_of(model, layer)) {
      ParameterEntry entry{.name = layer.name + '.' + spec.name,
                           .shape = spec.shape,
                           .kind = spec.kind,
                           .layer = static_cast<int>(i),
                           .rate = layer.rate,
                           .pretrained = layer.pretrained,
                           .count = 1};
      for (const int64_t side : entry.shape) entry.count *= side;
      (is_running_statistic(spec.kind) ? statistics : entries_).push_back(std::move(entry));
    }
  }
  for (auto& entry : entries_) {
    entry.offset = total_;
    total_ += aligned(entry.count, alignment);
  }
  trainable_ = total_;
  for (auto& entry : statistics) {
    entry.offset = total_;
    total_ += aligned(entry.count, alignment);
    entries_.push_back(std::move(entry));
  }
}

const ParameterEntry* ParameterLayout::find(const std::string& name) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

bool ParameterLayout::has_trainable(int layer) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const auto& e) { return e.layer == layer && !is_running_statistic(e.kind); });
}

size_t ParameterLayout::trainable_parameters() const {
  size_t count = 0;
  for (const auto& entry : entries_) count += entry.offset < trainable_ ? entry.count : 0;
  return count;
}

DeviceBuffer::DeviceBuffer(Backend& backend, size_t bytes)
    : backend_(&backend), data_(backend.allocate(bytes)), bytes_(bytes) {}

DeviceBuffer::~DeviceBuffer() {
  if (data_) backend_->release(data_, bytes_);
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept {
  *this = std::move(other);
}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(backend_, other.backend_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

std::vector<float> initial_parameters(const Model& model, const ParameterLayout& layout, uint64_t seed) {
  require_memory(fmt::format("'{}' has {} parameters: a copy of them in fp32", model.name, layout.floats()),
                 layout.floats() * sizeof(float), free_memory_of_host(),
                 [] { return "Check the filters and sizes of its layers."; });
  std::vector<float> values(layout.floats(), 0.0f);
  for (const auto& entry : layout.entries()) {
    float* begin = values.data() + entry.offset;
    switch (entry.kind) {
      case ParameterKind::weight: {
        // He et al. 2015: with rectifiers, layers keep the variance of the activations.
        const float deviation = std::sqrt(2.0f / static_cast<float>(entry.count / entry.shape[0]));
        Random random(seed, Purpose::weights, 0, static_cast<uint64_t>(entry.layer));
        std::generate(begin, begin + entry.count, [&] { return deviation * random.normal(); });
        break;
      }
      case ParameterKind::scale:
      case ParameterKind::running_variance: std::fill(begin, begin + entry.count, 1.0f); break;
      case ParameterKind::bias:
      case ParameterKind::shift:
      case ParameterKind::running_mean: break;
    }
  }
  for (const auto& layer : model.layers) {
    const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes);
    if (!yolo) continue;
    const ParameterEntry* bias = layout.find(model.layers[layer.inputs[0]].name + ".bias");
    if (bias) initialize_head_bias(yolo->head, values.data() + bias->offset);
    // Small weights, so that the first predictions are the prior and not noise.
    const ParameterEntry* weight = layout.find(model.layers[layer.inputs[0]].name + ".weight");
    if (bias && weight) {
      for (size_t i = 0; i < weight->count; ++i) values[weight->offset + i] *= 0.1f;
    }
  }
  return values;
}

}  // namespace brightnet
