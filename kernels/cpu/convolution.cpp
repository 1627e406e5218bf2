// Activations are NHWC. Weights lie as oneDNN prefers for each of the three passes; the masters are OHWI and
// are reordered (and rounded to bf16) once per optimizer step, which costs two passes over the weights and
// saves a slower convolution on every image. Weight gradients come out in fp32 in oneDNN's layout and are
// reordered into OHWI, added to what is there in later micro-batches.
#include "kernels/cpu/convolution.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "core/alignment.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/grouped_weights.h"
#include "kernels/cpu/images_at_once.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/quantized_convolution.h"
#include "kernels/cpu/shared_convolution.h"
#include "kernels/cpu/weight_layout.h"
#include "kernels/cpu/winograd_convolution.h"
#include "kernels/cpu/with_memory.h"

namespace brightnet::cpu {
namespace {

using dnnl::memory;

using onednn::engine;
using onednn::stream;

memory::data_type onednn_type(DType type) {
  return type == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

memory::desc activations(const Shape& s, DType type) {
  return {{s.n, s.c, s.h, s.w}, onednn_type(type), memory::format_tag::nhwc};
}

/// A primitive with its scratch memory, which lies at the start of the workspace.
struct Pass {
  dnnl::primitive primitive;
  memory scratch;
  std::string implementation;
  size_t scratch_bytes = 0;

  template <typename PrimitiveDesc>
  void make(const PrimitiveDesc& desc, dnnl::primitive made) {
    primitive = std::move(made);
    scratch_bytes = desc.scratchpad_desc().get_size();
    scratch = memory(desc.scratchpad_desc(), engine(), nullptr);
    implementation = desc.impl_info_str();
  }
};

/// Weights in one pass's layout, which are converted from the masters', or gradients to it.
class LaidOutWeights {
 public:
  memory data;

  LaidOutWeights(const ConvolutionSpec& spec, const memory::desc& desc)
      : data(desc, engine(), nullptr), type_(spec.type) {
    if (spec.groups > 1) {
      grouped_.emplace(spec, desc, engine());
    } else {
      layout_.emplace(desc);
    }
  }
  void fill(const float* masters) {
    if (grouped_) return grouped_->pack(masters, data.get_data_handle(), stream());
    pack_weights(*layout_, masters, type_, data.get_data_handle());
  }
  /// Converts gradients to the masters' layout; only of fp32 ones.
  void read(float* masters, bool accumulate) {
    if (grouped_) return grouped_->unpack(data.get_data_handle(), masters, accumulate, stream());
    unpack_weights(*layout_, static_cast<const float*>(data.get_data_handle()), masters, accumulate);
  }

 private:
  DType type_;
  std::optional<WeightLayout> layout_;  ///< set where grouped_ is not
  std::optional<GroupedWeights> grouped_;
};

class OneDnnConvolution : public Convolution {
 public:
  explicit OneDnnConvolution(const ConvolutionSpec& spec) : spec_(spec) {
    memory::dims weight_dims{spec.output.c, spec.input.c, spec.kernel, spec.kernel};
    if (spec.groups > 1) weight_dims = grouped_weight_dims(spec);
    onednn::ConvolutionGeometry geometry;
    geometry.source = activations(spec.input, spec.type);
    geometry.destination = activations(spec.output, spec.type);
    geometry.weights = {weight_dims, onednn_type(spec.type), memory::format_tag::any};
    geometry.strides = {spec.stride, spec.stride};
    geometry.padding = {spec.padding, spec.padding};
    input_ = memory(geometry.source, engine(), nullptr);
    output_ = memory(geometry.destination, engine(), nullptr);
    const auto forward = make_forward(geometry);
    if (spec.training) make_backward(geometry, forward, weight_dims);
  }

  size_t weight_bytes() const override {
    return aligned(forward_weights_->data.get_desc().get_size()) +
           (backward_weights_copy_ ? backward_weights_copy_->data.get_desc().get_size() : 0);
  }

  size_t workspace_bytes() const override {
    return scratch_bytes() + (spec_.training ? gradient_->data.get_desc().get_size() : 0);
  }

  void bind(void* weights, void* workspace) override {
    forward_weights_->data.set_data_handle(weights);
    if (backward_weights_copy_) {
      backward_weights_copy_->data.set_data_handle(static_cast<std::byte*>(weights) +
                                                   aligned(forward_weights_->data.get_desc().get_size()));
    }
    forward_.scratch.set_data_handle(workspace);
    if (!spec_.training) return;
    if (spec_.input_gradient) backward_data_.scratch.set_data_handle(workspace);
    backward_weights_.scratch.set_data_handle(workspace);
    gradient_->data.set_data_handle(static_cast<std::byte*>(workspace) + scratch_bytes());
  }

  void prepare(const float* master) override {
    forward_weights_->fill(master);
    if (backward_weights_copy_) backward_weights_copy_->fill(master);
  }

  void forward(const Tensor& x, const float* bias, const Tensor& y) override {
    input_.set_data_handle(x.data);
    output_.set_data_handle(y.data);
    if (spec_.bias) bias_.set_data_handle(const_cast<float*>(bias));
    forward_.primitive.execute(stream(), forward_arguments_);
    if (activates_after_) apply_activation(spec_.activation, y, y);
  }

  void backward_data(const Tensor& dy, const Tensor& dx) override {
    BRIGHTNET_CHECK(spec_.training && spec_.input_gradient,
                    "this convolution was planned without an input gradient");
    input_.set_data_handle(dx.data);
    output_.set_data_handle(dy.data);
    backward_data_.primitive.execute(stream(), backward_data_arguments_);
  }

  void backward_weights(const Tensor& x, const Tensor& dy, float* dw, bool accumulate) override {
    BRIGHTNET_CHECK(spec_.training, "this convolution was planned for inference");
    input_.set_data_handle(x.data);
    output_.set_data_handle(dy.data);
    backward_weights_.primitive.execute(stream(), backward_weights_arguments_);
    if (dw) gradient_->read(dw, accumulate);
  }

  std::string description() const override {
    std::string text = "oneDNN " + forward_.implementation;
    if (spec_.training)
      text += ", " + backward_data_.implementation + ", " + backward_weights_.implementation;
    return text;
  }

 private:
  dnnl::convolution_forward::primitive_desc make_forward(const onednn::ConvolutionGeometry& without_bias) {
    onednn::ConvolutionGeometry geometry = without_bias;
    if (spec_.bias) {
      geometry.bias = {{spec_.output.c}, memory::data_type::f32, memory::format_tag::x};
      bias_ = memory(geometry.bias, engine(), nullptr);
    }
    dnnl::primitive_attr attr = onednn::user_scratchpad();
    const auto activation = onednn::fused_activation(spec_);
    activates_after_ = spec_.activation != Activation::linear && !activation;
    dnnl::post_ops fused;
    if (activation) onednn::append_eltwise(fused, *activation);
    attr.set_post_ops(fused);
    const auto desc = onednn::forward(engine(), spec_.training, geometry, attr);
    forward_.make(desc, dnnl::convolution_forward(desc));
    forward_weights_.emplace(spec_, desc.weights_desc());
    forward_arguments_ = {{DNNL_ARG_SRC, input_},
                          {DNNL_ARG_DST, output_},
                          {DNNL_ARG_WEIGHTS, forward_weights_->data},
                          {DNNL_ARG_SCRATCHPAD, forward_.scratch}};
    if (spec_.bias) forward_arguments_[DNNL_ARG_BIAS] = bias_;
    return desc;
  }

  void make_backward(const onednn::ConvolutionGeometry& geometry,
                     const dnnl::convolution_forward::primitive_desc& hint, const memory::dims& weight_dims) {
    if (spec_.input_gradient) {
      const auto desc = onednn::backward_data(engine(), geometry, hint, onednn::user_scratchpad());
      backward_data_.make(desc, dnnl::convolution_backward_data(desc));
      const bool shared = desc.weights_desc() == hint.weights_desc();
      if (!shared) backward_weights_copy_.emplace(spec_, desc.weights_desc());
      backward_data_arguments_ = {
          {DNNL_ARG_DIFF_SRC, input_},
          {DNNL_ARG_DIFF_DST, output_},
          {DNNL_ARG_WEIGHTS, shared ? forward_weights_->data : backward_weights_copy_->data},
          {DNNL_ARG_SCRATCHPAD, backward_data_.scratch}};
    }
    onednn::ConvolutionGeometry to_weights = geometry;
    to_weights.weights = {weight_dims, memory::data_type::f32, memory::format_tag::any};
    const auto desc = onednn::backward_weights(engine(), to_weights, hint, onednn::user_scratchpad());
    backward_weights_.make(desc, dnnl::convolution_backward_weights(desc));
    gradient_.emplace(spec_, desc.diff_weights_desc());
    backward_weights_arguments_ = {{DNNL_ARG_SRC, input_},
                                   {DNNL_ARG_DIFF_DST, output_},
                                   {DNNL_ARG_DIFF_WEIGHTS, gradient_->data},
                                   {DNNL_ARG_SCRATCHPAD, backward_weights_.scratch}};
  }

  /// The three passes never run at once and share their scratch memory; the weight gradient lies after it.
  size_t scratch_bytes() const {
    return aligned(
        std::max({forward_.scratch_bytes, backward_data_.scratch_bytes, backward_weights_.scratch_bytes}));
  }

  const ConvolutionSpec spec_;
  bool activates_after_ = false;
  memory input_, output_, bias_;
  std::optional<LaidOutWeights> forward_weights_;
  std::optional<LaidOutWeights> backward_weights_copy_;  ///< when backward-data prefers another layout
  std::optional<LaidOutWeights> gradient_;
  Pass forward_, backward_data_, backward_weights_;
  std::unordered_map<int, memory> forward_arguments_, backward_data_arguments_, backward_weights_arguments_;
};

/// bf16 activations around an fp32 convolution, for CPUs on which that is faster.
class CastingConvolution : public Convolution {
 public:
  /// Casts so few images at a time that their copies stay in a core's cache.
  explicit CastingConvolution(const ConvolutionSpec& spec)
      : spec_(spec), images_(images_at_once(spec, size_t{8} << 20)), inner_(in_f32(spec, images_)) {}

  size_t weight_bytes() const override { return inner_.weight_bytes(); }
  size_t workspace_bytes() const override {
    return aligned(inner_.workspace_bytes()) + aligned(input_.bytes()) + aligned(output_.bytes());
  }
  void bind(void* weights, void* workspace) override {
    inner_.bind(weights, workspace);
    input_.data = static_cast<std::byte*>(workspace) + aligned(inner_.workspace_bytes());
    output_.data = static_cast<std::byte*>(input_.data) + aligned(input_.bytes());
  }
  void prepare(const float* master) override { inner_.prepare(master); }
  void forward(const Tensor& x, const float* bias, const Tensor& y) override {
    for (int image = 0; image < spec_.input.n; image += images_) {
      cast(images_of(x, image, images_), input_);
      inner_.forward(input_, bias, output_);
      cast(output_, images_of(y, image, images_));
    }
  }
  void backward_data(const Tensor& dy, const Tensor& dx) override {
    cast(dy, output_);
    inner_.backward_data(output_, input_);
    cast(input_, dx);
  }
  void backward_weights(const Tensor& x, const Tensor& dy, float* dw, bool accumulate) override {
    cast(x, input_);
    cast(dy, output_);
    inner_.backward_weights(input_, output_, dw, accumulate);
  }
  std::string description() const override {
    return inner_.description() + " in fp32 between casts (no fast bf16 on this CPU)";
  }

 private:
  static ConvolutionSpec in_f32(ConvolutionSpec spec, int images) {
    spec.type = DType::f32;
    spec.input.n = spec.output.n = images;
    return spec;
  }
  const ConvolutionSpec spec_;
  const int images_;
  OneDnnConvolution inner_;
  Tensor input_{nullptr, in_f32(spec_, images_).input, DType::f32};
  Tensor output_{nullptr, in_f32(spec_, images_).output, DType::f32};
};

// bf16 products are fast on AMX, and on AMD's AVX512-BF16. Intel's AVX512-BF16 without AMX works at half the
// rate of its fp32 (measured on Emerald Rapids: 156 against 259 GFLOP/s in a training step), plain AVX-512
// has to emulate them, and below that oneDNN has none.
Bf16Products faster_bf16_products() {
  if (onednn::has_instructions(dnnl::cpu_isa::avx512_core_amx)) return Bf16Products::native;
  const bool fast = onednn::has_instructions(dnnl::cpu_isa::avx512_core_bf16) && !__builtin_cpu_is("intel");
  return fast ? Bf16Products::native : Bf16Products::in_fp32;
}

}  // namespace

bool fast_bf16() {
  return faster_bf16_products() == Bf16Products::native;
}

std::unique_ptr<Convolution> plan_convolution(const ConvolutionSpec& spec) {
  if (spec.quantized) return plan_quantized_convolution(spec);
  if (spec.exchange && spec.training) return make_shared_convolution(spec);
  BRIGHTNET_CHECK(spec.type == DType::f32 || spec.type == DType::bf16, "the CPU computes in fp32 and bf16");
  if (spec.type == DType::bf16) return plan_bf16_convolution(spec, faster_bf16_products());
  if (auto winograd = plan_winograd_convolution(spec)) return winograd;
  return std::make_unique<OneDnnConvolution>(spec);
}

std::unique_ptr<Convolution> plan_bf16_convolution(const ConvolutionSpec& spec, Bf16Products products) {
  if (products == Bf16Products::in_fp32) {
    if (auto winograd = plan_winograd_convolution(spec)) return winograd;
    return std::make_unique<CastingConvolution>(spec);
  }
  return std::make_unique<OneDnnConvolution>(spec);
}

std::unique_ptr<Convolution> CpuBackend::plan_convolution(const ConvolutionSpec& spec) {
  return onednn::with_memory([&] { return cpu::plan_convolution(spec); });
}

}  // namespace brightnet::cpu

namespace brightnet {

LibraryVersion onednn_version() {
  const dnnl_version_t* found = dnnl_version();
  const auto text = [](int major, int minor, int patch) {
    return std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
  };
  return {text(found->major, found->minor, found->patch),
          text(DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH)};
}

}  // namespace brightnet
