// A convolution's memory, and what its passes read and write there. The workspace is
//
//   [what cuDNN's engine uses while it runs][after it: Σy and Σy² of the output, or the weights' gradient]
//
// In half precision weight gradients leave the engine rounded; sums over micro-batches are fp32.
#include "kernels/cuda/convolution.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "core/alignment.h"
#include "kernels/cuda/convolution_kernels.h"
#include "kernels/cuda/convolution_pass.h"
#include "kernels/cuda/convolution_workspace.h"

namespace brightnet::cuda {
namespace {

/// The spec that cuDNN computes: it knows of no channels without weights, so there the weights are zero.
ConvolutionSpec with_weights_for_all(ConvolutionSpec spec) {
  BRIGHTNET_CHECK(spec.zero_inputs + spec.zero_outputs == 0 || (spec.groups == 1 && spec.type != DType::f32),
                  "channels without weights are those of an image or of predictions in a 16-bit type");
  spec.zero_inputs = spec.zero_outputs = 0;
  return spec;
}

class CudnnConvolution : public Convolution {
 public:
  CudnnConvolution(const ConvolutionSpec& spec, cudaStream_t stream,
                   const std::shared_ptr<ConvolutionEngines>& engines)
      : spec_(with_weights_for_all(spec)),
        zero_inputs_(spec.zero_inputs),
        zero_outputs_(spec.zero_outputs),
        stream_(stream),
        engine_bytes_(least_engine_bytes(spec)),
        forward_(ConvolutionPass::Kind::forward, spec_, engines, stream),
        backward_data_(ConvolutionPass::Kind::backward_data, spec_, engines, stream),
        add_backward_data_(ConvolutionPass::Kind::add_backward_data, spec_, engines, stream),
        backward_weights_(ConvolutionPass::Kind::backward_weights, spec_, engines, stream) {}
  // Its passes refer to its spec.
  CudnnConvolution(const CudnnConvolution&) = delete;
  CudnnConvolution& operator=(const CudnnConvolution&) = delete;

  // In fp32 training the masters are the working weights; a frozen layer's folded ones are not there to stay.
  size_t weight_bytes() const override {
    return uses_masters() ? 0 : aligned(spec_.weight_count() * size_of(spec_.type), device_alignment);
  }
  size_t workspace_bytes() const override { return workspace_of(least_engine_bytes(spec_)); }
  size_t most_workspace_bytes() const override { return workspace_of(most_engine_bytes(spec_)); }
  void bind(void* weights, void* workspace) override {
    weights_ = weights;
    workspace_ = static_cast<std::byte*>(workspace);
    engine_bytes_ = least_engine_bytes(spec_);
    if (zero_outputs_ == 0) return;
    const size_t own = flat().count() * size_of(spec_.type);
    fill_async(static_cast<std::byte*>(weights) + own, 0, weight_bytes() - own, stream_);
  }
  void extend_workspace(size_t bytes) override {
    BRIGHTNET_CHECK(bytes >= workspace_bytes(), "a workspace is extended, not reduced");
    const size_t room = (bytes - after_engine_bytes()) / device_alignment * device_alignment;
    engine_bytes_ = engine_bytes_within(spec_, room);
  }

  void prepare(const float* master) override {
    if (uses_masters()) {
      weights_ = const_cast<float*>(master);
    } else if (zero_inputs_ > 0) {
      pad_inputs(master, spec_.input.c - zero_inputs_, {weights_, flat(), spec_.type}, spec_.input.c,
                 stream_);
    } else {
      cast({const_cast<float*>(master), flat(), DType::f32}, {weights_, flat(), spec_.type}, stream_);
    }
  }

  Tensor working_weights() const override {
    return uses_masters() || spec_.folded || zero_inputs_ > 0 ? Tensor{}
                                                              : Tensor{weights_, flat(), spec_.type};
  }

  void expect(const ConvolutionTensors& tensors) override {
    if (LaunchList::current()) return;
    each_pass(tensors, [this](ConvolutionPass& pass, const Pointers&, const std::vector<Tensor>&) {
      pass.expect(engine_bytes_);
    });
  }
  // Engines are timed and checked on random numbers: zeros would cost less power, and show nothing.
  void choose(const ConvolutionTensors& tensors) override {
    if (LaunchList::current()) return;
    each_pass(tensors,
              [this](ConvolutionPass& pass, const Pointers& pointers, const std::vector<Tensor>& read) {
                for (const Tensor& tensor : read) fill_random(tensor, 1, stream_);
                pass.choose(pointers, engine_workspace());
              });
  }

  void forward(const Tensor& x, const float* bias, const Tensor& y) override {
    forward_.run(forward_pointers(x, bias, y), engine_workspace());
  }
  const float* output_sums() const override { return forward_.sums() ? after_engine() : nullptr; }

  void backward_data(const Tensor& dy, const Tensor& dx) override {
    BRIGHTNET_CHECK(spec_.training && spec_.input_gradient,
                    "this convolution was planned without an input gradient");
    backward_data_.run(data_pointers(dy, dx), engine_workspace());
  }

  // Choosing an engine leaves dx alone: the engines write to `part` then, and those that add, add to it.
  bool add_backward_data(const Tensor& dy, const Tensor& dx, const Tensor& part) override {
    BRIGHTNET_CHECK(spec_.training && spec_.input_gradient,
                    "this convolution was planned without an input gradient");
    Pointers pointers = sum_pointers(dy, dx, part);
    add_backward_data_.choose(pointers, engine_workspace());
    if (add_backward_data_.adds()) pointers[x_slot] = dx.data;
    add_backward_data_.run(pointers, engine_workspace());
    if (!add_backward_data_.adds()) add(dx, part, dx, stream_);
    return true;
  }

  void backward_weights(const Tensor& x, const Tensor& dy, float* dw, bool accumulate) override {
    BRIGHTNET_CHECK(spec_.training, "this convolution was planned for inference");
    const bool direct = spec_.type == DType::f32 && !accumulate && dw;
    void* const part = direct ? dw : after_engine();
    backward_weights_.run(weight_pointers(x, dy, part), engine_workspace());
    if (direct || !dw) return;
    const Tensor sum{part, flat(), spec_.type};
    if (zero_inputs_ == 0) return add_weight_gradient(sum, dw, accumulate, stream_);
    add_padded_weight_gradient(sum, spec_.input.c, dw, spec_.input.c - zero_inputs_, accumulate, stream_);
  }

  bool rounds_weight_gradient() const override { return spec_.type != DType::f32 && zero_inputs_ == 0; }
  void rounded_backward_weights(const Tensor& x, const Tensor& dy, void* dw) override {
    backward_weights_.run(weight_pointers(x, dy, dw), engine_workspace());
  }

  std::string description() const override {
    std::string text = "cuDNN " + forward_.engine();
    if (spec_.training)
      text += ", " + (add_backward_data_.chosen() ? add_backward_data_ : backward_data_).engine() + ", " +
              backward_weights_.engine();
    return text;
  }

 private:
  bool uses_masters() const { return spec_.training && spec_.type == DType::f32 && !spec_.folded; }
  /// The weights of the outputs that have some.
  Shape flat() const {
    return {1, 1, 1,
            static_cast<int>(spec_.weight_count()) / spec_.output.c * (spec_.output.c - zero_outputs_)};
  }

  Pointers forward_pointers(const Tensor& x, const float* bias, const Tensor& y) const {
    Pointers pointers{{x_slot, x.data}, {w_slot, weights_}, {y_slot, y.data}};
    if (spec_.bias) pointers[bias_slot] = const_cast<float*>(bias);
    if (spec_.statistics) {
      pointers[sum_slot] = after_engine();
      pointers[square_sum_slot] = after_engine() + spec_.output.c;
    }
    return pointers;
  }
  Pointers data_pointers(const Tensor& dy, const Tensor& dx) const {
    return {{x_slot, dx.data}, {w_slot, weights_}, {y_slot, dy.data}};
  }
  Pointers sum_pointers(const Tensor& dy, const Tensor& dx, const Tensor& part) const {
    return {{x_slot, part.data}, {w_slot, weights_}, {y_slot, dy.data}, {addend_slot, dx.data}};
  }
  static Pointers weight_pointers(const Tensor& x, const Tensor& dy, void* dw) {
    return {{x_slot, x.data}, {w_slot, dw}, {y_slot, dy.data}};
  }
  /// Calls `body` for each pass that has tensors.
  void each_pass(
      const ConvolutionTensors& t,
      const std::function<void(ConvolutionPass&, const Pointers&, const std::vector<Tensor>& read)>& body) {
    body(forward_, forward_pointers(t.x, t.bias, t.y), {t.x});
    if (t.dx && t.part) body(add_backward_data_, sum_pointers(t.dy, t.dx, t.part), {t.dy, t.dx});
    if (t.dx && !t.part) body(backward_data_, data_pointers(t.dy, t.dx), {t.dy});
    if (t.backward_x)
      body(backward_weights_, weight_pointers(t.backward_x, t.dy, after_engine()), {t.backward_x, t.dy});
  }

  /// The larger of the output's sums and the weights' gradient, which are never needed at the same time.
  size_t after_engine_bytes() const {
    if (!spec_.training) return 0;
    const size_t sums = spec_.statistics ? 2 * sizeof(float) * spec_.output.c : 0;
    return aligned(std::max(spec_.weight_count() * sizeof(float), sums), device_alignment);
  }
  size_t workspace_of(size_t engine_bytes) const {
    return aligned(engine_bytes, device_alignment) + after_engine_bytes();
  }
  EngineWorkspace engine_workspace() const { return {workspace_, engine_bytes_}; }
  float* after_engine() const {
    return reinterpret_cast<float*>(workspace_ + aligned(engine_bytes_, device_alignment));
  }

  const ConvolutionSpec spec_;
  const int zero_inputs_, zero_outputs_;
  const cudaStream_t stream_;
  void* weights_ = nullptr;
  std::byte* workspace_ = nullptr;
  size_t engine_bytes_;  ///< bytes of the workspace that are for the engine
  ConvolutionPass forward_, backward_data_, add_backward_data_, backward_weights_;
};

}  // namespace

ConvolutionFactory cudnn_convolutions(const CudnnOptions& options) {
  return [engines = std::make_shared<ConvolutionEngines>(options)](
             const ConvolutionSpec& spec, cudaStream_t stream) -> std::unique_ptr<Convolution> {
    ConvolutionSpec own = spec;
    // In fp16, where cuDNN has these engines, two runs on an H200 had different bits (docs/measurements/gpu_h200.md). That
    // they are why is not proved.
    if (engines->is_reproducible()) own.statistics = false;
    return std::make_unique<CudnnConvolution>(own, stream, engines);
  };
}

}  // namespace brightnet::cuda
