// What the engines may use of the arena is a function of the shape, not of the engine chosen, so that a plan
// of the memory needs no GPU and is the same for every candidate of a micro-batch.
//
// In half precision weight gradients leave the engine rounded; sums over micro-batches are fp32.
#include "kernels/cuda/convolution.h"

#include <algorithm>
#include <optional>

#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/bias_activation.h"
#include "kernels/cuda/cast.h"
#include "kernels/cuda/convolution_engine.h"
#include "kernels/cuda/engine_agreement.h"

namespace brightnet::cuda {
namespace {

constexpr size_t aligned(size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

/// The engines of the passes that read the convolution's input, which differ with what that is.
struct ReadingEngines {
  EnginePointer forward, backward_weights;
};

class CudnnConvolution : public Convolution, public NormalizingConvolution {
 public:
  CudnnConvolution(const ConvolutionSpec& spec, cudaStream_t stream,
                   std::shared_ptr<ConvolutionEngines> engines)
      : spec_(spec),
        stream_(stream),
        engines_(std::move(engines)),
        engine_bytes_(convolution_workspace(spec)) {}

  // In fp32 training the masters are the working weights; a frozen layer's folded ones are not there to stay.
  size_t weight_bytes() const override {
    return uses_masters() ? 0 : aligned(spec_.weight_count() * size_of(spec_.type));
  }
  size_t workspace_bytes() const override {
    return aligned(engine_bytes_) + (spec_.training ? aligned(std::max(gradient_bytes(), sums_bytes())) : 0);
  }
  void bind(void* weights, void* workspace) override {
    weights_ = weights;
    workspace_ = workspace;
    behind_engine_ =
        static_cast<float*>(static_cast<void*>(static_cast<std::byte*>(workspace) + aligned(engine_bytes_)));
  }

  void prepare(const float* master) override {
    if (uses_masters()) {
      weights_ = const_cast<float*>(master);
    } else {
      cast({const_cast<float*>(master), flat(), DType::f32}, {weights_, flat(), spec_.type}, stream_);
    }
  }

  void forward(const Tensor& x, const float* bias, const Tensor& y) override {
    forward(reading_x_, InputKind::plain, {{x_slot, x.data}}, bias, y);
  }
  void forward(const NormalizedInput& input, const float* bias, const Tensor& y) override {
    forward(normalizing_, InputKind::normalized, pointers_to(input), bias, y);
  }

  const float* output_sums() const override { return sums_; }

  void backward_data(const Tensor& dy, const Tensor& dx) override {
    BRIGHTNET_CHECK(spec_.training && spec_.input_gradient,
                    "this convolution was planned without an input gradient");
    const Pointers pointers{{x_slot, dx.data}, {w_slot, weights_}, {y_slot, dy.data}};
    if (!backward_data_) {
      const auto variants = [this] { return backward_data_variants(spec_); };
      backward_data_ = choose({key("backward data"), spec_.type, variants}, pointers);
    }
    execute(backward_data_, pointers);
  }

  void backward_weights(const Tensor& x, const Tensor& dy, float* dw, bool accumulate) override {
    backward_weights(reading_x_, InputKind::plain, {{x_slot, x.data}}, dy, dw, accumulate);
  }
  void backward_weights(const NormalizedInput& input, const Tensor& dy, float* dw, bool accumulate) override {
    backward_weights(normalizing_, InputKind::normalized, pointers_to(input), dy, dw, accumulate);
  }

  // cuDNN has such engines for both passes in fp16 alone, for whole vectors of channels. What is timed may
  // come out otherwise in another run.
  NormalizingConvolution* normalizing() override {
    const bool possible = spec_.normalized_input && spec_.training && spec_.statistics &&
                          spec_.type == DType::f16 && spec_.input.c % 8 == 0 &&
                          !engines_->options().deterministic;
    return possible ? this : nullptr;
  }
  bool is_faster(const NormalizedInput& input, const Tensor& x, const Tensor& y,
                 const std::function<void()>& apply) override {
    if (!normalizing_is_faster_) {
      const std::string question = key("applies batch-norm, is faster", InputKind::normalized);
      const auto measure = [&] { return is_faster_by_time(input, x, y, apply); };
      normalizing_is_faster_ = engines_->decide(question, measure, stream_) &&
                               choose(normalizing_, InputKind::normalized, pointers_to(input), y);
    }
    return *normalizing_is_faster_;
  }

  std::string description() const override {
    const auto name = [](const EnginePointer& engine) {
      return engine ? engine->name : std::string("not chosen yet");
    };
    const bool normalizes = normalizing_is_faster_.value_or(false);
    const ReadingEngines& reading = normalizes ? normalizing_ : reading_x_;
    std::string text = "cuDNN " + name(reading.forward);
    if (spec_.training) text += ", " + name(backward_data_) + ", " + name(reading.backward_weights);
    if (normalizes) text += ", applying the batch-norm before it";
    return text;
  }

 private:
  bool uses_masters() const { return spec_.training && spec_.type == DType::f32 && !spec_.folded; }
  size_t gradient_bytes() const { return spec_.weight_count() * sizeof(float); }
  size_t sums_bytes() const { return spec_.statistics ? 2 * sizeof(float) * spec_.output.c : 0; }
  Shape flat() const { return {1, 1, 1, static_cast<int>(spec_.weight_count())}; }
  EngineWorkspace workspace() const { return {workspace_, engine_bytes_}; }

  Pointers pointers_to(const NormalizedInput& input) const {
    auto* affine = static_cast<std::byte*>(const_cast<void*>(input.affine));
    return {{x_slot, input.y.data},
            {factor_slot, affine},
            {offset_slot, affine + spec_.input.c * size_of(spec_.type)}};
  }
  Pointers forward_pointers(Pointers pointers, const float* bias, const Tensor& y) const {
    pointers[w_slot] = weights_;
    pointers[y_slot] = y.data;
    if (spec_.bias) pointers[bias_slot] = const_cast<float*>(bias);
    if (spec_.statistics) {
      pointers[sum_slot] = behind_engine_;
      pointers[square_sum_slot] = behind_engine_ + spec_.output.c;
    }
    return pointers;
  }
  Pointers backward_weights_pointers(Pointers pointers, const Tensor& dy) const {
    pointers[w_slot] = behind_engine_;
    pointers[y_slot] = dy.data;
    return pointers;
  }

  ConvolutionEngines::Pass forward_pass(InputKind kind) {
    return {key("forward", kind), spec_.type,
            [this, kind] { return forward_variants(spec_, kind, workspace_, stream_); },
            kind == InputKind::normalized};
  }
  ConvolutionEngines::Pass backward_weights_pass(InputKind kind) {
    return {key("backward weights", kind), spec_.type,
            [this, kind] { return backward_weights_variants(spec_, kind); }, kind == InputKind::normalized};
  }

  void forward(ReadingEngines& engines, InputKind kind, const Pointers& input, const float* bias,
               const Tensor& y) {
    const Pointers pointers = forward_pointers(input, bias, y);
    if (!engines.forward) engines.forward = choose(forward_pass(kind), pointers);
    BRIGHTNET_CHECK(engines.forward, "a convolution applies batch-norm that was said not to");
    execute(engines.forward, pointers);
    sums_ = engines.forward->variant.name == "sums" ? behind_engine_ : nullptr;
  }
  void backward_weights(ReadingEngines& engines, InputKind kind, const Pointers& input, const Tensor& dy,
                        float* dw, bool accumulate) {
    BRIGHTNET_CHECK(spec_.training, "this convolution was planned for inference");
    Pointers pointers = backward_weights_pointers(input, dy);
    if (!engines.backward_weights) engines.backward_weights = choose(backward_weights_pass(kind), pointers);
    const bool direct = spec_.type == DType::f32 && !accumulate && dw;
    if (direct) pointers[w_slot] = dw;
    execute(engines.backward_weights, pointers);
    if (!direct && dw) add_weight_gradient({behind_engine_, flat(), spec_.type}, dw, accumulate, stream_);
  }
  /// Both passes, against the two that read x and the batch-norm's application.
  bool is_faster_by_time(const NormalizedInput& input, const Tensor& x, const Tensor& y,
                         const std::function<void()>& apply) {
    const auto together = try_out(normalizing_, InputKind::normalized, pointers_to(input), y);
    if (!together) return false;
    apply();
    const auto apart = try_out(reading_x_, InputKind::plain, {{x_slot, x.data}}, y);
    const float applying = fastest_run([&] { return apply(), true; }, stream_);
    return together->milliseconds < apart->milliseconds + applying &&
           agree(apart->output, together->output) && agree(apart->gradient, together->gradient);
  }

  struct Trial {
    float milliseconds = 0;
    Sample output, gradient;
  };
  /// Nothing when there are no such engines. The output's place is its gradient's too.
  std::optional<Trial> try_out(ReadingEngines& engines, InputKind kind, const Pointers& input,
                               const Tensor& y) {
    if (!choose(engines, kind, input, y)) return std::nullopt;
    Trial trial;
    const auto run = [&](const EnginePointer& engine, const Pointers& pointers, const Tensor& result) {
      trial.milliseconds += engines_->milliseconds(*engine, pointers, workspace(), stream_);
      execute(engine, pointers);
      return Sample(result, stream_);
    };
    trial.output = run(engines.forward, forward_pointers(input, nullptr, y), y);
    // Each 2^-11: the sum over all pixels must not overflow.
    fill_async(y.data, 0x10, y.bytes(), stream_);
    trial.gradient = run(engines.backward_weights, backward_weights_pointers(input, y),
                         {behind_engine_, flat(), spec_.type});
    return trial;
  }

  bool choose(ReadingEngines& engines, InputKind kind, const Pointers& input, const Tensor& y) {
    // This one first: there may be none, and cuDNN compiles some of the others for seconds.
    if (!engines.backward_weights)
      engines.backward_weights = choose(backward_weights_pass(kind), backward_weights_pointers(input, y));
    if (engines.backward_weights && !engines.forward)
      engines.forward = choose(forward_pass(kind), forward_pointers(input, nullptr, y));
    return engines.forward && engines.backward_weights;
  }
  EnginePointer choose(const ConvolutionEngines::Pass& pass, const Pointers& pointers) {
    return engines_->choose(pass, pointers, workspace(), stream_);
  }
  void execute(const EnginePointer& engine, const Pointers& pointers) {
    engines_->execute(*engine, pointers, workspace(), stream_);
  }

  /// What a pass of this convolution is known by.
  std::string key(const std::string& pass, InputKind kind = InputKind::plain) const {
    std::string text = pass + ' ' + to_string(spec_.input) + " -> " + to_string(spec_.output) + " k" +
                       std::to_string(spec_.kernel) + " s" + std::to_string(spec_.stride) + " p" +
                       std::to_string(spec_.padding) + ' ' + std::string(enum_name(spec_.type));
    if (spec_.bias) text += " bias";
    if (spec_.activation != Activation::linear)
      text += " activation" + std::to_string(static_cast<int>(spec_.activation));
    if (spec_.statistics) text += " statistics";
    if (kind == InputKind::normalized)
      text += " normalized" + std::to_string(static_cast<int>(spec_.input_activation));
    if (engines_->options().tensor_float) text += " tf32";
    if (engines_->options().deterministic) text += " deterministic";
    return text + " in " + std::to_string(engine_bytes_);
  }

  const ConvolutionSpec spec_;
  const cudaStream_t stream_;
  const std::shared_ptr<ConvolutionEngines> engines_;
  const size_t engine_bytes_;
  void *weights_ = nullptr, *workspace_ = nullptr;
  float* behind_engine_ = nullptr;  ///< forward: the output's sums; backward: the weights' gradient
  const float* sums_ = nullptr;     ///< of the last forward pass
  EnginePointer backward_data_;
  ReadingEngines reading_x_, normalizing_;
  std::optional<bool> normalizing_is_faster_;
};

}  // namespace

// Split sums of weight gradients and transposed inputs want about this much; an engine that wants more is not
// taken.
size_t convolution_workspace(const ConvolutionSpec& spec) {
  constexpr size_t least = size_t{4} << 20, most = size_t{256} << 20;
  const size_t tensors = (spec.input.count() + spec.output.count()) * size_of(spec.type);
  const size_t weights = spec.weight_count() * sizeof(float);
  // What is timed in the place of batch-norm's statistics wants room too.
  const size_t statistics = spec.statistics ? channel_workspace(spec.output) : 0;
  return std::max(statistics, std::clamp(spec.training ? tensors + 8 * weights : tensors, least, most));
}

ConvolutionFactory cudnn_convolutions(const CudnnOptions& options) {
  return [engines = std::make_shared<ConvolutionEngines>(options)](
             const ConvolutionSpec& spec, cudaStream_t stream) -> std::unique_ptr<Convolution> {
    return std::make_unique<CudnnConvolution>(spec, stream, engines);
  };
}

}  // namespace brightnet::cuda
