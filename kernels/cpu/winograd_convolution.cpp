// oneDNN transforms tiles of activations whose channels lie in blocks of 16. Images are copied into that layout and back,
// which costs little beside what is saved; the activation is applied, and bf16 converted, in these copies. Errors are those
// of fp32: at most a few times the direct ones'.
#include "kernels/cpu/winograd_convolution.h"

#include <unordered_map>

#include "core/alignment.h"
#include "kernels/cpu/images_at_once.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/vector_types.h"
#include "kernels/cpu/weight_layout.h"
#include "kernels/cpu/with_memory.h"

namespace brightnet::cpu {
namespace {

using dnnl::memory;
using onednn::engine;
using onednn::stream;

constexpr int block = 16;  // channels
// Larger filters take long to transform, up to a second in a large network, and four times their space: more than a
// program that looks at a few pictures gets back.
constexpr size_t most_weight_bytes = size_t{5} << 20;
// Limits for the images that are copied together, and for oneDNN's tiles of them.
constexpr size_t most_copied_bytes = size_t{8} << 20, most_tile_bytes = size_t{12} << 20;

memory::desc in_blocks(const Shape& s) {
  return {{s.n, s.c, s.h, s.w}, memory::data_type::f32, memory::format_tag::nChw16c};
}

/// Calls body(pixel, blocked) for each pixel of images: the index of its first channel in NHWC, and that in blocks, where the
/// next block of channels is `pixels of an image · block` further on.
template <typename Body>
void for_each_pixel(const Shape& s, size_t bytes_per_channel, Body&& body) {
  const size_t channels = s.c, image = static_cast<size_t>(s.h) * s.w;
  parallel_items(s.n * image, channels * bytes_per_channel, [&](size_t begin, size_t end) {
    for (size_t p = begin; p < end; ++p) body(p * channels, p / image * image * channels + p % image * block);
  });
}

template <typename T>
void to_blocks(const T* x, const Shape& s, float* blocked) {
  const size_t stride = static_cast<size_t>(s.h) * s.w * block, channels = s.c;
  for_each_pixel(s, sizeof(T) + sizeof(float), [=](size_t pixel, size_t to) {
    for (size_t c = 0; c < channels; c += block, to += stride) {
#pragma omp simd
      for (size_t i = 0; i < block; ++i) blocked[to + i] = widen(x[pixel + c + i]);
    }
  });
}

template <Activation A, typename T>
void from_blocks(const float* blocked, const Shape& s, T* y) {
  const size_t stride = static_cast<size_t>(s.h) * s.w * block, channels = s.c;
  for_each_pixel(s, sizeof(T) + sizeof(float), [=](size_t pixel, size_t from) {
    for (size_t c = 0; c < channels; c += block, from += stride) {
#pragma omp simd
      for (size_t i = 0; i < block; ++i) store(y[pixel + c + i], activate<A>(blocked[from + i]));
    }
  });
}

class WinogradConvolution : public Convolution {
 public:
  WinogradConvolution(const ConvolutionSpec& spec, int images,
                      const dnnl::convolution_forward::primitive_desc& desc)
      : spec_(spec),
        images_(images),
        primitive_(desc),
        implementation_(desc.impl_info_str()),
        input_(desc.src_desc(), engine(), nullptr),
        output_(desc.dst_desc(), engine(), nullptr),
        weights_(desc.weights_desc(), engine(), nullptr),
        scratch_(desc.scratchpad_desc(), engine(), nullptr) {
    arguments_ = {{DNNL_ARG_SRC, input_},
                  {DNNL_ARG_DST, output_},
                  {DNNL_ARG_WEIGHTS, weights_},
                  {DNNL_ARG_SCRATCHPAD, scratch_}};
    if (spec.bias) arguments_[DNNL_ARG_BIAS] = bias_ = memory(desc.bias_desc(), engine(), nullptr);
  }

  size_t weight_bytes() const override { return weights_.get_desc().get_size(); }
  size_t workspace_bytes() const override {
    return bytes_of(scratch_) + bytes_of(input_) + bytes_of(output_);
  }
  void bind(void* weights, void* workspace) override {
    weights_.set_data_handle(weights);
    auto* next = static_cast<std::byte*>(workspace);
    for (memory* part : {&scratch_, &input_, &output_}) {
      part->set_data_handle(next);
      next += bytes_of(*part);
    }
  }

  void prepare(const float* master) override {
    onednn::with_memory([&] {
      memory plain({{spec_.output.c, spec_.input.c, 3, 3}, memory::data_type::f32, memory::format_tag::oihw},
                   engine());
      pack_weights(WeightLayout(plain.get_desc()), master, DType::f32, plain.get_data_handle());
      dnnl::reorder(plain, weights_).execute(stream(), plain, weights_);
      stream().wait();
    });
  }

  void forward(const Tensor& x, const float* bias, const Tensor& y) override {
    if (spec_.bias) bias_.set_data_handle(const_cast<float*>(bias));
    auto* blocked_x = static_cast<float*>(input_.get_data_handle());
    auto* blocked_y = static_cast<float*>(output_.get_data_handle());
    for (int image = 0; image < spec_.input.n; image += images_) {
      const Tensor from = images_of(x, image, images_), to = images_of(y, image, images_);
      with_compute_type(x.type, [&]<typename T>() { to_blocks(from.as<T>(), from.shape, blocked_x); });
      primitive_.execute(stream(), arguments_);
      with_activation(spec_.activation, [&]<Activation A>() {
        with_compute_type(y.type, [&]<typename T>() { from_blocks<A>(blocked_y, to.shape, to.as<T>()); });
      });
    }
  }

  void backward_data(const Tensor&, const Tensor&) override { refuse(); }
  void backward_weights(const Tensor&, const Tensor&, float*, bool) override { refuse(); }

  std::string description() const override {
    return "oneDNN " + implementation_ + (spec_.type == DType::f32 ? "" : " in fp32");
  }

 private:
  static void refuse() { BRIGHTNET_CHECK(false, "this convolution was planned for inference"); }
  static size_t bytes_of(const memory& part) { return aligned(part.get_desc().get_size()); }

  const ConvolutionSpec spec_;
  const int images_;  ///< images that are convolved at once
  dnnl::convolution_forward primitive_;
  std::string implementation_;
  memory input_, output_, weights_, bias_, scratch_;
  std::unordered_map<int, memory> arguments_;
};

bool applies(const ConvolutionSpec& spec) {
  return !spec.training && !spec.quantized && spec.kernel == 3 && spec.stride == 1 && spec.groups == 1 &&
         spec.zero_inputs == 0 && spec.zero_outputs == 0 && spec.input.c % block == 0 &&
         spec.output.c % block == 0;
}

}  // namespace

std::unique_ptr<Convolution> plan_winograd_convolution(const ConvolutionSpec& spec) {
  if (!applies(spec)) return nullptr;
  Shape input = spec.input, output = spec.output;
  const int images = images_at_once(spec, most_copied_bytes);
  input.n = output.n = images;
  onednn::ConvolutionGeometry geometry;
  geometry.source = in_blocks(input);
  geometry.destination = in_blocks(output);
  geometry.weights = {{output.c, input.c, 3, 3}, memory::data_type::f32, memory::format_tag::any};
  if (spec.bias) geometry.bias = {{output.c}, memory::data_type::f32, memory::format_tag::x};
  geometry.strides = {1, 1};
  geometry.padding = {spec.padding, spec.padding};
  const auto desc = onednn::winograd(geometry);
  if (!desc || desc->weights_desc().get_size() > most_weight_bytes ||
      desc->scratchpad_desc().get_size() > most_tile_bytes)
    return nullptr;
  return std::make_unique<WinogradConvolution>(spec, images, *desc);
}

}  // namespace brightnet::cpu
