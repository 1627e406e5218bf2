#include "train/optimizer/optimizer_step.h"

#include <cstddef>

#include <fmt/format.h>

#include "core/alignment.h"
#include "kernels/math/loss_scaler.h"

namespace brightnet {
namespace {

constexpr size_t state_bytes = aligned(sizeof(StepState));

/// Whether gradients may leave its range, or vanish below it.
bool has_narrow_range(Precision precision) {
  return compute_type(precision) == DType::f16;
}

float first_scale(const OptimizerOptions& options, Precision precision) {
  if (options.loss_scale > 0) return options.loss_scale;
  return has_narrow_range(precision) ? first_loss_scale : 1.0f;
}

/// `images`: of a step on this rank.
StepPolicy step_policy(const OptimizerOptions& options, const EmaOptions& ema, Precision precision,
                       int images) {
  StepPolicy policy;
  policy.clip = options.clip;
  policy.scales_loss = has_narrow_range(precision) || options.loss_scale > 0;
  policy.growth_interval = options.loss_scale_growth;
  policy.images = images;
  const auto [beta1, beta2] = std::visit([](const auto& rule) { return rule.corrected(); }, rule_of(options));
  policy.beta1 = beta1;
  policy.beta2 = beta2;
  policy.ema_decay = ema.decay;
  policy.ema_ramp = ema.ramp;
  return policy;
}

}  // namespace

OptimizerStep::OptimizerStep(const OptimizerOptions& options, const EmaOptions& ema, Precision precision,
                             const ParameterLayout& layout, Backend& backend, float* values, int images)
    : backend_(backend),
      layout_(layout),
      values_(values),
      policy_(step_policy(options, ema, precision, images)),
      max_skips_(options.max_skips),
      control_(backend, control_bytes()),
      kept_statistics_(backend, statistics_bytes(layout)),
      optimizer_(options, ema, layout, backend, values),
      readback_(backend.make_readback(sizeof(StepState))) {
  StepState state;
  state.loss_scale = first_scale(options, precision);
  resume(state);
}

void OptimizerStep::set_rate(float rate, float pretrained_share) {
  const float rates[] = {rate, pretrained_share};
  static_assert(offsetof(StepState, pretrained_share) == offsetof(StepState, rate) + sizeof rate);
  backend_.upload(&device_state()->rate, rates, sizeof rates);
}

void OptimizerStep::step(const float* gradients) {
  const size_t trainable = layout_.trainable_floats(), statistics = layout_.floats() - trainable;
  StepState* const state = device_state();
  backend_.check_step(policy_, {gradients, trainable, values_ + trainable, statistics}, state,
                      static_cast<std::byte*>(control_.data()) + state_bytes);
  optimizer_.step({.count = trainable, .values = values_, .gradients = gradients}, state);
  float* const average = optimizer_.average();
  backend_.commit_statistics(values_ + trainable, kept_statistics_.floats(),
                             average ? average + trainable : nullptr, statistics, state);
}

const StepState* OptimizerStep::observe() {
  readback_->request(device_state());
  const auto* seen = static_cast<const StepState*>(readback_->value());
  if (seen && seen->skips_in_a_row >= max_skips_) stop(*seen);
  return seen;
}

void OptimizerStep::stop(const StepState& seen) const {
  const std::string begin = "the gradient was not finite for " + std::to_string(seen.skips_in_a_row) +
                            " steps in a row, so training stops";
  const std::string remedy =
      "Lower optimizer.rate or optimizer.clip, or lengthen schedule.warmup, and look at the labels with "
      "`brightnet data check`. Saved weights are finite, but a rate that is too high "
      "spoils them long before: resume only if metrics.csv shows a falling loss up to then.";
  if (!policy_.scales_loss) throw InputError(begin, "", remedy);
  throw InputError(
      begin + "; the loss scale has come down to " + fmt::format("{:f}", seen.loss_scale), "",
      remedy +
          " If --precision bf16 or fp32 trains well, the values themselves leave fp16's range: train "
          "in bf16, or give the layers concerned `precision: fp32` in the model's YAML.");
}

StepState OptimizerStep::state() const {
  StepState state;
  backend_.download(&state, device_state(), sizeof state);
  return state;
}

void OptimizerStep::resume(const StepState& state) {
  backend_.upload(device_state(), &state, sizeof state);
  backend_.copy(kept_statistics_.data(), values_ + layout_.trainable_floats(), kept_statistics_.bytes());
}

void OptimizerStep::clear_sums() {
  const LossTotals nothing;
  backend_.upload(&device_state()->sums, &nothing, sizeof nothing);
}

size_t OptimizerStep::control_bytes() {
  return state_bytes + step_workspace_bytes;
}

size_t OptimizerStep::statistics_bytes(const ParameterLayout& layout) {
  return (layout.floats() - layout.trainable_floats()) * sizeof(float);
}

}  // namespace brightnet
