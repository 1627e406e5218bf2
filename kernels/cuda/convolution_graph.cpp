#include "kernels/cuda/convolution_graph.h"

#include <algorithm>
#include <set>

#include <cudnn_frontend.h>

#include "kernels/cuda/convolution_kernels.h"
#include "kernels/cuda/convolution_workspace.h"

namespace brightnet::cuda {

const std::vector<cudnn_frontend::HeurMode_t> engine_lists = {
    cudnn_frontend::HeurMode_t::A, cudnn_frontend::HeurMode_t::B, cudnn_frontend::HeurMode_t::FALLBACK};

namespace {

namespace fe = cudnn_frontend;
using fe::graph::Graph;  // not the captured one of runtime.h
using fe::graph::Pointwise_attributes;
using fe::graph::Tensor_attributes;
using TensorPointer = std::shared_ptr<Tensor_attributes>;

// cuDNN compiles every engine with an epilogue of ours, in each process anew: that is worth it where the pass
// over the output that it saves takes longer than some microseconds.
constexpr size_t least_fused_bytes = size_t{64} << 20;
// A sum that is not fused is three passes, in every training step.
constexpr size_t least_added_bytes = size_t{16} << 20;

fe::DataType_t frontend_type(DType type) {
  return type == DType::f16    ? fe::DataType_t::HALF
         : type == DType::bf16 ? fe::DataType_t::BFLOAT16
                               : fe::DataType_t::FLOAT;
}

Tensor_attributes& describe(Tensor_attributes& tensor, int64_t slot, int64_t n, int64_t c, int64_t h,
                            int64_t w, DType type) {
  return tensor.set_uid(slot)
      .set_dim({n, c, h, w})
      .set_stride({h * w * c, 1, w * c, c})
      .set_data_type(frontend_type(type));
}

/// The graph of one pass, and the tensors that passes have in common.
struct PassGraph {
  const ConvolutionSpec& spec;
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();

  explicit PassGraph(const ConvolutionSpec& convolution) : spec(convolution) {
    graph->set_io_data_type(frontend_type(spec.type))
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }

  TensorPointer tensor(int64_t slot, const char* name, int64_t n, int64_t c, int64_t h, int64_t w,
                       DType type) {
    Tensor_attributes attributes;
    describe(attributes, slot, n, c, h, w, type).set_name(name);
    return graph->tensor(attributes);
  }
  TensorPointer image(int64_t slot, const char* name, const Shape& s) {
    return tensor(slot, name, s.n, s.c, s.h, s.w, spec.type);
  }
  TensorPointer x() { return image(x_slot, "x", spec.input); }
  TensorPointer y() { return image(y_slot, "y", spec.output); }
  /// cuDNN tells the number of groups from the inputs of a filter.
  TensorPointer w() {
    return tensor(w_slot, "w", spec.output.c, spec.group_inputs(), spec.kernel, spec.kernel, spec.type);
  }
  TensorPointer bias() { return tensor(bias_slot, "bias", 1, spec.output.c, 1, 1, DType::f32); }

  template <typename Attributes>
  Attributes geometry() const {
    return Attributes()
        .set_padding({spec.padding, spec.padding})
        .set_stride({spec.stride, spec.stride})
        .set_dilation({1, 1});
  }

  TensorPointer pointwise(fe::PointwiseMode_t mode, const TensorPointer& a) {
    return graph->pointwise(a, Pointwise_attributes().set_mode(mode));
  }
  TensorPointer pointwise(fe::PointwiseMode_t mode, const TensorPointer& a, const TensorPointer& b) {
    return graph->pointwise(a, b, Pointwise_attributes().set_mode(mode));
  }
  TensorPointer activated(const TensorPointer& x, Activation activation);

  std::shared_ptr<Graph> with_output(const TensorPointer& tensor, int64_t slot, const Shape& s) {
    describe(tensor->set_output(true), slot, s.n, s.c, s.h, s.w, spec.type);
    return graph;
  }
  std::shared_ptr<Graph> with_weight_output(const TensorPointer& tensor) {
    describe(tensor->set_output(true), w_slot, spec.output.c, spec.group_inputs(), spec.kernel, spec.kernel,
             spec.type);
    return graph;
  }
};

/// nullptr where cuDNN's graphs have no form of it: the plain variant then applies it in one more pass over y.
TensorPointer PassGraph::activated(const TensorPointer& x, Activation activation) {
  using Mode = fe::PointwiseMode_t;
  switch (activation) {
    case Activation::linear: return x;
    case Activation::relu: return pointwise(Mode::RELU_FWD, x);
    case Activation::leaky:
      return graph->pointwise(
          x, Pointwise_attributes().set_mode(Mode::RELU_FWD).set_relu_lower_clip_slope(0.1f));
    case Activation::mish:
      return pointwise(Mode::MUL, x, pointwise(Mode::TANH_FWD, pointwise(Mode::SOFTPLUS_FWD, x)));
    case Activation::swish:
      return graph->pointwise(x, Pointwise_attributes().set_mode(Mode::SWISH_FWD).set_swish_beta(1.0f));
    case Activation::logistic: return pointwise(Mode::SIGMOID_FWD, x);
    default: return nullptr;
  }
}

/// nullptr when it is to be fused with an activation that cuDNN has no form of.
std::shared_ptr<Graph> forward_graph(const ConvolutionSpec& spec, bool fused) {
  PassGraph pass(spec);
  auto y = pass.graph->conv_fprop(pass.x(), pass.w(), pass.geometry<fe::graph::Conv_fprop_attributes>());
  if (fused) y = pass.activated(pass.pointwise(fe::PointwiseMode_t::ADD, y, pass.bias()), spec.activation);
  return y ? pass.with_output(y, y_slot, spec.output) : nullptr;
}

std::shared_ptr<Graph> sums_graph(const ConvolutionSpec& spec) {
  PassGraph pass(spec);
  const auto y =
      pass.graph->conv_fprop(pass.x(), pass.w(), pass.geometry<fe::graph::Conv_fprop_attributes>());
  const auto [sum, square_sum] = pass.graph->genstats(y, fe::graph::Genstats_attributes());
  describe(sum->set_output(true), sum_slot, 1, spec.output.c, 1, 1, DType::f32);
  describe(square_sum->set_output(true), square_sum_slot, 1, spec.output.c, 1, 1, DType::f32);
  return pass.with_output(y, y_slot, spec.output);
}

/// Opens what the frontend keeps to itself: whether a plan is deselected, or not supported.
struct Plans : fe::ICudnn {
  static fe::graph::Execution_plan_list& of(Graph& graph) {
    return static_cast<fe::ICudnn&>(graph).*(&Plans::plans);
  }
};

}  // namespace

std::string engine_name(const ConvolutionVariant& variant, int64_t index) {
  std::string tag;
  if (variant.graph->get_plan_name_at_index(index, tag).is_bad()) tag = "engine " + std::to_string(index);
  return variant.name + ':' + tag;
}

ConvolutionVariants forward_variants(const ConvolutionSpec& spec) {
  ConvolutionVariants variants;
  const auto y_of = [spec](const Pointers& pointers) {
    return Tensor{pointers.at(y_slot), spec.output, spec.type};
  };
  const bool epilogue = spec.bias || spec.activation != Activation::linear;
  if (epilogue && spec.output.count() * size_of(spec.type) >= least_fused_bytes) {
    if (auto fused = forward_graph(spec, true)) variants.push_back({"fused", std::move(fused), {}, {}});
  }
  // The second row of sums follows the first, and engines are promised 16-byte alignment. No engine has them
  // for an image's three channels.
  const bool sums =
      spec.statistics && spec.type != DType::f32 && spec.input.c % 8 == 0 && spec.output.c % 4 == 0;
  if (sums) variants.push_back({"sums", sums_graph(spec), {}, {}});
  ConvolutionVariant plain{"plain", forward_graph(spec, false), {}, {}};
  if (epilogue) {
    plain.epilogue = [y_of, spec](const Pointers& pointers, void*, cudaStream_t stream) {
      bias_activation(y_of(pointers), static_cast<const float*>(pointers.at(bias_slot)), spec.activation,
                      stream);
    };
  }
  if (spec.statistics) {
    plain.elsewhere = [y_of](const Pointers& pointers, void* workspace, cudaStream_t stream) {
      read_for_statistics(y_of(pointers), workspace, stream);
    };
  }
  variants.push_back(std::move(plain));
  return variants;
}

ConvolutionVariants backward_data_variants(const ConvolutionSpec& spec) {
  PassGraph pass(spec);
  const auto dx =
      pass.graph->conv_dgrad(pass.y(), pass.w(), pass.geometry<fe::graph::Conv_dgrad_attributes>());
  return {{"plain", pass.with_output(dx, x_slot, spec.input), {}, {}}};
}

ConvolutionVariants add_backward_data_variants(const ConvolutionSpec& spec) {
  ConvolutionVariants variants;
  if (spec.input.count() * size_of(spec.type) >= least_added_bytes) {
    PassGraph pass(spec);
    const auto product =
        pass.graph->conv_dgrad(pass.y(), pass.w(), pass.geometry<fe::graph::Conv_dgrad_attributes>());
    describe(*product, product_slot, spec.input.n, spec.input.c, spec.input.h, spec.input.w, DType::f32);
    const auto dx =
        pass.pointwise(fe::PointwiseMode_t::ADD, product, pass.image(addend_slot, "addend", spec.input));
    variants.push_back({"sum", pass.with_output(dx, x_slot, spec.input), {}, {}, spec.input});
  }
  ConvolutionVariant plain = std::move(backward_data_variants(spec).front());
  plain.elsewhere = [spec](const Pointers& pointers, void*, cudaStream_t stream) {
    const Tensor part{pointers.at(x_slot), spec.input, spec.type};
    add({pointers.at(addend_slot), spec.input, spec.type}, part, part, stream);
  };
  variants.push_back(std::move(plain));
  return variants;
}

ConvolutionVariants backward_weights_variants(const ConvolutionSpec& spec) {
  PassGraph pass(spec);
  const auto dw =
      pass.graph->conv_wgrad(pass.y(), pass.x(), pass.geometry<fe::graph::Conv_wgrad_attributes>());
  return {{"plain", pass.with_weight_output(dw), {}, {}}};
}

// No engine of cuDNN 9.19 that computes in tf32 carries the note DOWN_CONVERT_INPUTS: those that do convert to a
// half precision.
void deselect_engines(fe::graph::Graph& graph, DType type, const EngineLimits& limits) {
  using Note = fe::NumericalNote_t;
  std::vector<Note> unwanted{Note::REDUCED_PRECISION_REDUCTION, Note::DOWN_CONVERT_INPUTS, Note::FFT,
                             Note::WINOGRAD_TILE_6x6, Note::WINOGRAD_TILE_13x13};
  if (type == DType::f32 && !limits.tensor_float) unwanted.push_back(Note::TENSOR_CORE);
  if (limits.deterministic) unwanted.push_back(Note::NONDETERMINISTIC);
  graph.deselect_numeric_notes(unwanted);
  graph.deselect_workspace_greater_than(static_cast<int64_t>(limits.workspace_bytes));
}

std::vector<ConvolutionEngine> usable_engines(const ConvolutionVariants& variants) {
  int64_t most = 0;
  for (const ConvolutionVariant& variant : variants)
    most = std::max(most, variant.graph->get_execution_plan_count());
  std::vector<ConvolutionEngine> engines;
  std::set<std::string> known;  // several lists of the heuristics may name an engine
  for (int64_t i = 0; i < most; ++i) {
    for (const ConvolutionVariant& variant : variants) {
      if (i >= variant.graph->get_execution_plan_count()) continue;
      if (Plans::of(*variant.graph).check_support_at_index(i).is_bad()) continue;
      ConvolutionEngine engine{variant, i, engine_name(variant, i)};
      if (known.insert(engine.name).second) engines.push_back(std::move(engine));
    }
  }
  return engines;
}

// The shape of most of yolov4's convolutions, and the window of the other half.
bool has_engines_with_sums(DType type, const std::shared_ptr<const fe::DeviceProperties>& card) {
  for (const int kernel : {1, 3}) {
    ConvolutionSpec spec;
    spec.input = spec.output = {8, 76, 76, 128};
    spec.kernel = kernel;
    spec.padding = kernel / 2;
    spec.type = type;
    spec.statistics = true;
    const ConvolutionVariant sums = forward_variants(spec).front();
    fe::graph::Graph& graph = *sums.graph;
    graph.set_device_properties(card);
    if (graph.validate().is_bad() || graph.build_operation_graph().is_bad() ||
        graph.create_execution_plans(engine_lists).is_bad())
      return false;
    deselect_engines(graph, type, {.workspace_bytes = most_engine_bytes(spec)});
    if (usable_engines({sums}).empty()) return false;
  }
  return true;
}

}  // namespace brightnet::cuda
