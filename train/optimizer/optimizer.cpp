#include "train/optimizer/optimizer.h"

namespace brightnet {
namespace {

DeviceBuffer zeros(Backend& backend, size_t floats) {
  DeviceBuffer buffer(backend, floats * sizeof(float));
  backend.zero(buffer.data(), buffer.bytes());
  return buffer;
}

bool is_decoupled(DecayKind kind) {
  switch (kind) {
    case DecayKind::l2: return false;
    case DecayKind::decoupled: return true;
  }
  return false;
}

/// Weight decay is for the weights of convolutions: not for biases, nor for the two or so numbers a channel of batch-norm.
bool decays(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::weight: return true;
    case ParameterKind::bias:
    case ParameterKind::scale:
    case ParameterKind::shift:
    case ParameterKind::running_mean:
    case ParameterKind::running_variance: return false;
  }
  return false;
}

size_t moments_of(const OptimizerRule& rule) {
  return std::visit([]<typename Rule>(const Rule&) { return size_t{Rule::moments}; }, rule);
}

}  // namespace

void OptimizerOptions::fields(Fields& f) {
  constexpr double largest_beta = 0.999999;  // a mean of 1 never moves, and its correction is a division by 0
  constexpr double largest_first_scale = 1e30;
  f("kind", kind, "adamw, sgd or lion");
  f("rate", rate, "learning rate at the schedule's peak").above(0);
  f("momentum", momentum, "sgd").within(0, 1);
  f("nesterov", nesterov, "sgd");
  f("decay", decay, "weight decay of convolution weights").at_least(0);
  f("decay_kind", decay_kind, "sgd: l2 as in darknet, or decoupled");
  f("beta1", beta1, "adamw, lion").at_least(0).at_most(largest_beta);
  f("beta2", beta2, "adamw, lion").at_least(0).at_most(largest_beta);
  f("epsilon", epsilon, "adamw").above(0);
  f("clip", clip, "maximum norm of the gradient (clipping); 0: no clipping").at_least(0);
  f("max_skips", max_skips,
    "steps in a row with a gradient that is not finite before stopping; raise it for fp16 with a very large first scale")
      .at_least(1);
  f("loss_scale", loss_scale, "first loss scale, in any precision; 0: 65536 in fp16, none else")
      .within(0, largest_first_scale);
  f("loss_scale_growth", loss_scale_growth,
    "steps in a row without overflow until it doubles; raise it where the log has a skipped step after each doubling")
      .at_least(1);
}

OptimizerOptions OptimizerOptions::of(OptimizerKind kind) {
  OptimizerOptions options;
  options.kind = kind;
  switch (kind) {
    case OptimizerKind::adamw: break;
    case OptimizerKind::sgd:
      options.rate = 0.01f;
      options.decay = 0.0005f;
      break;
    case OptimizerKind::lion:
      options.rate = 0.0002f;
      options.decay = 0.5f;
      options.beta2 = 0.99f;
      break;
  }
  return options;
}

OptimizerRule rule_of(const OptimizerOptions& options) {
  switch (options.kind) {
    case OptimizerKind::adamw:
      return AdamW{.beta1 = options.beta1, .beta2 = options.beta2, .epsilon = options.epsilon};
    case OptimizerKind::sgd:
      return Sgd{.momentum = options.momentum,
                 .nesterov = options.nesterov,
                 .decoupled = is_decoupled(options.decay_kind)};
    case OptimizerKind::lion: return Lion{.beta1 = options.beta1, .beta2 = options.beta2};
  }
  return {};
}

std::vector<ParameterRange> parameter_ranges(const ParameterLayout& layout, float decay) {
  std::vector<ParameterRange> ranges;
  const auto& entries = layout.entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto& entry = entries[i];
    if (entry.offset >= layout.trainable_floats()) break;
    if (entry.rate == 0) continue;
    // Up to the next entry, padding included, so that the ranges have no gaps.
    const size_t end = i + 1 < entries.size() ? entries[i + 1].offset : layout.trainable_floats();
    const float own = decays(entry.kind) ? decay : 0.0f;
    ranges.push_back({.begin = entry.offset,
                      .end = end,
                      .rate = entry.rate,
                      .decay = own,
                      .pretrained = entry.pretrained});
  }
  return ranges;
}

DeviceRanges::DeviceRanges(Backend& backend, const std::vector<ParameterRange>& ranges)
    : memory_(backend, ranges.size() * sizeof(ParameterRange)) {
  backend.upload(memory_.data(), ranges.data(), memory_.bytes());
}

Optimizer::Optimizer(const OptimizerOptions& options, const EmaOptions& ema, const ParameterLayout& layout,
                     Backend& backend, const float* values)
    : backend_(backend), rule_(rule_of(options)), ranges_(backend, parameter_ranges(layout, options.decay)) {
  for (size_t i = 0; i < moments_of(rule_); ++i)
    moments_.push_back(zeros(backend, layout.trainable_floats()));
  if (const size_t bytes = average_bytes(ema, layout); bytes > 0) {
    average_ = DeviceBuffer(backend, bytes);
    backend.copy(average_.data(), values, bytes);
  }
}

void Optimizer::step(OptimizerArrays arrays, const StepState* state) {
  arrays.first = moments_[0].floats();
  if (moments_.size() > 1) arrays.second = moments_[1].floats();
  arrays.ema = average_.floats();
  backend_.optimizer_step(rule_, arrays, ranges_.span(), state);
}

void Optimizer::append_state(std::vector<StateArray>& state) const {
  const auto append = [&](std::string name, const DeviceBuffer& buffer) {
    state.push_back({std::move(name), buffer.floats(), buffer.bytes() / sizeof(float)});
  };
  if (average()) append("ema", average_);
  std::visit(
      [&]<typename Rule>(const Rule&) {
        for (size_t i = 0; i < moments_.size(); ++i)
          append("optimizer." + std::string(Rule::state_names[i]), moments_[i]);
      },
      rule_);
}

size_t optimizer_bytes(const OptimizerOptions& options, const ParameterLayout& layout) {
  return moments_of(rule_of(options)) * layout.trainable_floats() * sizeof(float) +
         parameter_ranges(layout, options.decay).size() * sizeof(ParameterRange);
}

}  // namespace brightnet
