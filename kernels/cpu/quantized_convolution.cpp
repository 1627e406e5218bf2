// x is u8 with a zero point, w is s8 with a scale for each output channel; oneDNN sums the products in 32 bits, subtracts
// the zero point's share (in the padding too), and scales, activates and rounds each sum once while it writes y. The
// weights are rounded once, in prepare().
#include "kernels/cpu/quantized_convolution.h"

#include <unordered_map>

#include "core/alignment.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/grouped_weights.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/with_memory.h"

namespace brightnet::cpu {
namespace {

using dnnl::memory;
using onednn::engine;
using onednn::stream;

memory::data_type onednn_type(bool eight_bit) {
  return eight_bit ? memory::data_type::u8 : memory::data_type::f32;
}

memory::desc activations(const Shape& s, bool eight_bit) {
  return {{s.n, s.c, s.h, s.w}, onednn_type(eight_bit), memory::format_tag::nhwc};
}

class QuantizedOneDnnConvolution : public Convolution {
 public:
  explicit QuantizedOneDnnConvolution(const ConvolutionSpec& spec)
      : spec_(spec),
        activation_(onednn::fused_activation(spec)),
        activates_after_(spec.activation != Activation::linear && !activation_),
        scales_(in_this_pass(), spec.groups) {
    const bool grouped = spec.groups > 1;
    weight_dims_ = {spec.output.c, spec.input.c, spec.kernel, spec.kernel};
    if (grouped) weight_dims_ = grouped_weight_dims(spec);
    onednn::ConvolutionGeometry geometry;
    geometry.source = activations(spec.input, true);
    geometry.destination = activations(spec.output, writes_eight_bit());
    geometry.weights = {weight_dims_, memory::data_type::s8, memory::format_tag::any};
    if (spec.bias) geometry.bias = {{spec.output.c}, memory::data_type::f32, memory::format_tag::x};
    geometry.strides = {spec.stride, spec.stride};
    geometry.padding = {spec.padding, spec.padding};
    dnnl::primitive_attr attr = onednn::user_scratchpad();
    scales_.describe(attr, activation_);
    const auto desc = onednn::forward(engine(), false, geometry, attr);
    primitive_ = dnnl::convolution_forward(desc);
    implementation_ = desc.impl_info_str();
    input_ = memory(geometry.source, engine(), nullptr);
    output_ = memory(geometry.destination, engine(), nullptr);
    weights_ = memory(desc.weights_desc(), engine(), nullptr);
    scratch_ = memory(desc.scratchpad_desc(), engine(), nullptr);
    arguments_ = {{DNNL_ARG_SRC, input_},
                  {DNNL_ARG_DST, output_},
                  {DNNL_ARG_WEIGHTS, weights_},
                  {DNNL_ARG_SCRATCHPAD, scratch_}};
    if (spec.bias) arguments_[DNNL_ARG_BIAS] = bias_ = memory(geometry.bias, engine(), nullptr);
    scales_.add_arguments(arguments_);
  }

  size_t weight_bytes() const override { return weights_.get_desc().get_size(); }

  size_t workspace_bytes() const override {
    return aligned(scratch_.get_desc().get_size()) + aligned(bias_bytes()) + wide_output().bytes();
  }

  void bind(void* weights, void* workspace) override {
    weights_.set_data_handle(weights);
    scratch_.set_data_handle(workspace);
    scaled_bias_ = reinterpret_cast<float*>(static_cast<std::byte*>(workspace) +
                                            aligned(scratch_.get_desc().get_size()));
    if (spec_.bias) bias_.set_data_handle(scaled_bias_);
  }

  void prepare(const float* master) override {
    const size_t pixels = static_cast<size_t>(spec_.kernel) * spec_.kernel, inputs = spec_.group_inputs();
    std::vector<int8_t> rounded(spec_.weight_count());
    for (size_t o = 0; o < static_cast<size_t>(spec_.output.c); ++o) {
      const size_t filter = o * pixels * inputs;
      for (size_t pixel = 0; pixel < pixels; ++pixel) {
        for (size_t c = 0; c < inputs; ++c) {
          rounded[filter + c * pixels + pixel] =
              quantized_weight(master[filter + pixel * inputs + c], spec_.quantized->weight_scales[o]);
        }
      }
    }
    const auto layout = spec_.groups > 1 ? memory::format_tag::goihw : memory::format_tag::oihw;
    memory plain({weight_dims_, memory::data_type::s8, layout}, engine(), rounded.data());
    const auto reorder = onednn::with_memory([&] { return dnnl::reorder(plain, weights_); });
    reorder.execute(stream(), plain, weights_);
    stream().wait();
  }

  void forward(const Tensor& x, const float* bias, const Tensor& y) override {
    BRIGHTNET_CHECK(x.type == DType::u8 && y.type == (spec_.quantized->output ? DType::u8 : DType::f32),
                    "an 8-bit convolution of other types than planned");
    input_.set_data_handle(x.data);
    const Tensor written = writes_eight_bit() || !spec_.quantized->output ? y : wide_output();
    output_.set_data_handle(written.data);
    if (spec_.bias) {
      for (size_t c = 0; c < static_cast<size_t>(spec_.output.c); ++c)
        scaled_bias_[c] = bias[c] * scales_.bias_factor(c);
    }
    primitive_.execute(stream(), arguments_);
    if (!activates_after_) return;
    apply_activation(spec_.activation, written, written);
    if (written.data != y.data) quantize(written, *spec_.quantized->output, y);
  }

  void backward_data(const Tensor&, const Tensor&) override { refuse(); }
  void backward_weights(const Tensor&, const Tensor&, float*, bool) override { refuse(); }

  std::string description() const override { return "oneDNN " + implementation_; }

 private:
  static void refuse() { BRIGHTNET_CHECK(false, "an 8-bit convolution was planned for inference"); }

  bool writes_eight_bit() const { return spec_.quantized->output && !activates_after_; }

  /// The part of the convolution that oneDNN computes: where the activation follows in a pass of its own, the
  /// output is fp32.
  QuantizedConvolution in_this_pass() const {
    QuantizedConvolution part = *spec_.quantized;
    if (activates_after_) part.output.reset();
    return part;
  }

  size_t bias_bytes() const { return spec_.bias ? spec_.output.c * sizeof(float) : 0; }

  /// The output before an activation that follows, in the workspace; its bytes are 0 where y is written at
  /// once.
  Tensor wide_output() const {
    if (writes_eight_bit() || !spec_.quantized->output) return {};
    return {scaled_bias_ ? reinterpret_cast<std::byte*>(scaled_bias_) + aligned(bias_bytes()) : nullptr,
            spec_.output, DType::f32};
  }

  const ConvolutionSpec spec_;
  const std::optional<onednn::Eltwise> activation_;
  const bool activates_after_;
  const onednn::ConvolutionScales scales_;
  memory::dims weight_dims_;
  dnnl::primitive primitive_;
  std::string implementation_;
  memory input_, output_, weights_, bias_, scratch_;
  std::unordered_map<int, memory> arguments_;
  float* scaled_bias_ = nullptr;
};

}  // namespace

bool has_int8_products() {
  return onednn::has_instructions(dnnl::cpu_isa::avx512_core_vnni) ||
         onednn::has_instructions(dnnl::cpu_isa::avx2_vnni);
}

std::unique_ptr<Convolution> plan_quantized_convolution(const ConvolutionSpec& spec) {
  BRIGHTNET_CHECK(
      !spec.training && spec.quantized->weight_scales.size() == static_cast<size_t>(spec.output.c),
      "an 8-bit convolution infers, with a scale for each output channel");
  return std::make_unique<QuantizedOneDnnConvolution>(spec);
}

}  // namespace brightnet::cpu
