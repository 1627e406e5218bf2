// What the engines may use of the arena is a function of the shape, not of the engine chosen, so that a plan
// of the memory needs no GPU and is the same for every candidate of a micro-batch.
//
// In half precision weight gradients leave the engine rounded; sums over micro-batches are fp32.
#include "kernels/cuda/convolution.h"

#include <algorithm>

#include "core/alignment.h"
#include "kernels/cuda/channel_sums.h"
#include "kernels/cuda/convolution_engine.h"
#include "kernels/cuda/convolution_kernels.h"

namespace brightnet::cuda {
namespace {

class CudnnConvolution : public Convolution {
 public:
  CudnnConvolution(const ConvolutionSpec& spec, cudaStream_t stream,
                   std::shared_ptr<ConvolutionEngines> engines)
      : spec_(spec),
        stream_(stream),
        engines_(std::move(engines)),
        engine_bytes_(convolution_workspace(spec)) {}

  // In fp32 training the masters are the working weights; a frozen layer's folded ones are not there to stay.
  size_t weight_bytes() const override {
    return uses_masters() ? 0 : aligned(spec_.weight_count() * size_of(spec_.type), device_alignment);
  }
  size_t workspace_bytes() const override {
    const size_t after = spec_.training ? std::max(gradient_bytes(), sums_bytes()) : 0;
    return engine_room() + aligned(after, device_alignment);
  }
  void bind(void* weights, void* workspace) override {
    weights_ = weights;
    workspace_ = workspace;
    after_engine_ =
        static_cast<float*>(static_cast<void*>(static_cast<std::byte*>(workspace) + engine_room()));
  }

  void prepare(const float* master) override {
    if (uses_masters()) {
      weights_ = const_cast<float*>(master);
    } else {
      cast({const_cast<float*>(master), flat(), DType::f32}, {weights_, flat(), spec_.type}, stream_);
    }
  }

  void forward(const Tensor& x, const float* bias, const Tensor& y) override {
    Pointers pointers{{x_slot, x.data}, {w_slot, weights_}, {y_slot, y.data}};
    if (spec_.bias) pointers[bias_slot] = const_cast<float*>(bias);
    if (spec_.statistics) {
      pointers[sum_slot] = after_engine_;
      pointers[square_sum_slot] = after_engine_ + spec_.output.c;
    }
    if (!forward_) {
      const auto variants = [this] { return forward_variants(spec_, workspace_, stream_); };
      forward_ = choose({key("forward"), spec_.type, variants}, pointers);
    }
    execute(forward_, pointers);
    sums_ = forward_->variant.name == "sums" ? after_engine_ : nullptr;
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
    BRIGHTNET_CHECK(spec_.training, "this convolution was planned for inference");
    Pointers pointers{{x_slot, x.data}, {w_slot, after_engine_}, {y_slot, dy.data}};
    if (!backward_weights_) {
      const auto variants = [this] { return backward_weights_variants(spec_); };
      backward_weights_ = choose({key("backward weights"), spec_.type, variants}, pointers);
    }
    const bool direct = spec_.type == DType::f32 && !accumulate && dw;
    if (direct) pointers[w_slot] = dw;
    execute(backward_weights_, pointers);
    if (!direct && dw) add_weight_gradient({after_engine_, flat(), spec_.type}, dw, accumulate, stream_);
  }

  std::string description() const override {
    const auto name = [](const EnginePointer& engine) {
      return engine ? engine->name : std::string("not chosen yet");
    };
    std::string text = "cuDNN " + name(forward_);
    if (spec_.training) text += ", " + name(backward_data_) + ", " + name(backward_weights_);
    return text;
  }

 private:
  bool uses_masters() const { return spec_.training && spec_.type == DType::f32 && !spec_.folded; }
  size_t engine_room() const { return aligned(engine_bytes_, device_alignment); }
  size_t gradient_bytes() const { return spec_.weight_count() * sizeof(float); }
  size_t sums_bytes() const { return spec_.statistics ? 2 * sizeof(float) * spec_.output.c : 0; }
  Shape flat() const { return {1, 1, 1, static_cast<int>(spec_.weight_count())}; }
  EngineWorkspace workspace() const { return {workspace_, engine_bytes_}; }

  EnginePointer choose(const ConvolutionEngines::Pass& pass, const Pointers& pointers) {
    return engines_->choose(pass, pointers, workspace(), stream_);
  }
  void execute(const EnginePointer& engine, const Pointers& pointers) {
    engines_->execute(*engine, pointers, workspace(), stream_);
  }

  /// What a pass of this convolution is known by.
  std::string key(const std::string& pass) const {
    std::string text = pass + ' ' + to_string(spec_.input) + " -> " + to_string(spec_.output) + " k" +
                       std::to_string(spec_.kernel) + " s" + std::to_string(spec_.stride) + " p" +
                       std::to_string(spec_.padding) + ' ' + std::string(enum_name(spec_.type));
    if (spec_.groups > 1) text += " g" + std::to_string(spec_.groups);
    if (spec_.bias) text += " bias";
    if (spec_.activation != Activation::linear)
      text += " activation" + std::to_string(static_cast<int>(spec_.activation));
    if (spec_.statistics) text += " statistics";
    if (engines_->options().tensor_float) text += " tf32";
    if (engines_->options().deterministic) text += " deterministic";
    return text + " in " + std::to_string(engine_bytes_);
  }

  const ConvolutionSpec spec_;
  const cudaStream_t stream_;
  const std::shared_ptr<ConvolutionEngines> engines_;
  const size_t engine_bytes_;
  void *weights_ = nullptr, *workspace_ = nullptr;
  float* after_engine_ = nullptr;  ///< forward: the output's sums; backward: the weights' gradient
  const float* sums_ = nullptr;    ///< of the last forward pass
  EnginePointer forward_, backward_data_, backward_weights_;
};

}  // namespace

// Split sums of weight gradients and transposed inputs want about this much; an engine that wants more
// is not taken.
size_t convolution_workspace(const ConvolutionSpec& spec) {
  constexpr size_t least = size_t{4} << 20, most = size_t{256} << 20;
  const size_t tensors = (spec.input.count() + spec.output.count()) * size_of(spec.type);
  const size_t weights = spec.weight_count() * sizeof(float);
  // What is timed in the place of batch-norm's statistics wants room too.
  const size_t statistics = spec.statistics ? ChannelWorkspace::bytes(spec.output) : 0;
  return std::max(statistics, std::clamp(spec.training ? tensors + 8 * weights : tensors, least, most));
}

ConvolutionFactory cudnn_convolutions(const CudnnOptions& options) {
  return [engines = std::make_shared<ConvolutionEngines>(options)](
             const ConvolutionSpec& spec, cudaStream_t stream) -> std::unique_ptr<Convolution> {
    return std::make_unique<CudnnConvolution>(spec, stream, engines);
  };
}

}  // namespace brightnet::cuda
