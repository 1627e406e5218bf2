#include "train/optimizer/optimizer.h"

#include "train/optimizer/ema.h"

namespace brightnet {
namespace {

DeviceBuffer zeros(Backend& backend, size_t floats) {
  DeviceBuffer buffer(backend, floats * sizeof(float));
  backend.zero(buffer.data(), buffer.bytes());
  return buffer;
}

}  // namespace

void OptimizerOptions::fields(Fields& f) {
  f("kind", kind, "adamw or sgd");
  f("rate", rate, "learning rate at the schedule's peak").above(0);
  f("momentum", momentum, "sgd").within(0, 1);
  f("nesterov", nesterov, "sgd");
  f("decay", decay, "weight decay of convolution weights").at_least(0);
  f("decay_kind", decay_kind, "sgd: l2 as in darknet, or decoupled");
  f("beta1", beta1, "adamw").within(0, 1);
  f("beta2", beta2, "adamw").within(0, 1);
  f("epsilon", epsilon, "adamw").above(0);
  f("clip", clip, "maximum norm of the gradient (clipping); 0: no clipping").at_least(0);
  f("max_skips", max_skips, "steps in a row with a gradient that is not finite before stopping").at_least(1);
  f("loss_scale", loss_scale, "first loss scale, in any precision; 0: 65536 in fp16, none else").at_least(0);
  f("loss_scale_growth", loss_scale_growth, "steps in a row without overflow until it doubles").at_least(1);
}

OptimizerOptions OptimizerOptions::sgd() {
  OptimizerOptions options;
  options.kind = OptimizerKind::sgd;
  options.rate = 0.01f;
  options.decay = 0.0005f;
  return options;
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
    const float own = entry.kind == ParameterKind::weight ? decay : 0.0f;
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

Sgd::Sgd(const OptimizerOptions& options, const ParameterLayout& layout, Backend& backend)
    : backend_(backend),
      sgd_{.momentum = options.momentum,
           .nesterov = options.nesterov,
           .decoupled = options.decay_kind == DecayKind::decoupled},
      ranges_(backend, parameter_ranges(layout, options.decay)),
      momentum_(zeros(backend, layout.trainable_floats())) {}

void Sgd::step(OptimizerArrays arrays, const StepState* state) {
  arrays.first = momentum_.floats();
  backend_.sgd_step(sgd_, arrays, ranges_.span(), state);
}

void Sgd::append_state(std::vector<StateArray>& state) const {
  state.push_back({"optimizer.momentum", momentum_.floats(), momentum_.bytes() / sizeof(float)});
}

AdamW::AdamW(const OptimizerOptions& options, const ParameterLayout& layout, Backend& backend)
    : backend_(backend),
      adam_{.beta1 = options.beta1, .beta2 = options.beta2, .epsilon = options.epsilon},
      ranges_(backend, parameter_ranges(layout, options.decay)),
      first_(zeros(backend, layout.trainable_floats())),
      second_(zeros(backend, layout.trainable_floats())) {}

void AdamW::step(OptimizerArrays arrays, const StepState* state) {
  arrays.first = first_.floats();
  arrays.second = second_.floats();
  backend_.adamw_step(adam_, arrays, ranges_.span(), state);
}

void AdamW::append_state(std::vector<StateArray>& state) const {
  state.push_back({"optimizer.first", first_.floats(), first_.bytes() / sizeof(float)});
  state.push_back({"optimizer.second", second_.floats(), second_.bytes() / sizeof(float)});
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, const EmaOptions& ema,
                                          const ParameterLayout& layout, Backend& backend, float* values) {
  std::unique_ptr<Optimizer> optimizer;
  if (options.kind == OptimizerKind::adamw) {
    optimizer = std::make_unique<AdamW>(options, layout, backend);
  } else {
    optimizer = std::make_unique<Sgd>(options, layout, backend);
  }
  if (ema.decay > 0) optimizer = std::make_unique<Ema>(std::move(optimizer), ema, layout, backend, values);
  return optimizer;
}

size_t optimizer_bytes(const OptimizerOptions& options, const ParameterLayout& layout) {
  const size_t moments = options.kind == OptimizerKind::adamw ? 2 : 1;
  return moments * layout.trainable_floats() * sizeof(float) +
         parameter_ranges(layout, options.decay).size() * sizeof(ParameterRange);
}

}  // namespace brightnet
