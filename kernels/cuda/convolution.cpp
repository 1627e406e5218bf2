// Activations are NHWC and weights OHWI, which is what cuDNN calls channels-last of NCHW and KCRS. Each pass
// of each shape has a list of engines that can do it: the frontend's heuristics name them, and those that
// need no more than the plan's workspace are run and timed, once; the fastest is remembered
// (kernels/cuda/tune_cache.h), and made once for all convolutions that are alike. What the engines may use of
// the arena is a function of the shape, not of the engine chosen, so that a plan of the memory needs no GPU
// and is the same for every candidate of a micro-batch.
//
// Weight gradients come out in fp32 where an engine offers that (cuDNN 9.19 has none for fp16 and bf16), else
// in the compute type; sums over micro-batches are fp32 either way. For inference, bias and activation go
// into cuDNN's engine where it has one that is faster than a kernel of ours behind the convolution.
#include "kernels/cuda/convolution.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include <cudnn_frontend.h>

#include "kernels/cuda/bias_activation.h"
#include "kernels/cuda/cast.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/tune_cache.h"

namespace cudnn_frontend {
// Where the frontend looks for cuDNN's functions.
void* cudnn_dlhandle = nullptr;
}  // namespace cudnn_frontend

namespace brightnet::cuda {
namespace {

namespace fe = cudnn_frontend;
using fe::graph::Graph;
using fe::graph::Tensor_attributes;
using TensorPointer = std::shared_ptr<Tensor_attributes>;

constexpr int most_engines = 8;   // of the heuristics' list, best first, that are timed
constexpr int most_compiled = 2;  // of those that cuDNN compiles for the occasion, a second or so each
constexpr int timed_runs = 3;
// cuDNN compiles every engine with an epilogue of ours, in each process anew: that is worth it where the pass
// over the output that it saves takes longer than some microseconds.
constexpr size_t least_fused_bytes = size_t{8} << 20;

enum Slot : int64_t { x_slot = 1, w_slot, y_slot, bias_slot };
using Pointers = std::unordered_map<int64_t, void*>;

constexpr size_t aligned(size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

fe::DataType_t frontend_type(DType type) {
  return type == DType::f16    ? fe::DataType_t::HALF
         : type == DType::bf16 ? fe::DataType_t::BFLOAT16
                               : fe::DataType_t::FLOAT;
}

/// One way to do a pass: a graph, the engines that can run it, and what of ours follows.
struct Variant {
  std::string name;
  std::shared_ptr<Graph> graph;
  std::function<void(const Pointers&)> epilogue;  ///< queued behind the engine; may be empty
};

/// An engine that was chosen.
struct Engine {
  Variant variant;
  int64_t index = -1;
  std::string name;  ///< "plain:ConvFwd_eng3_k2=1", as the cache knows it
};
using EnginePointer = std::shared_ptr<const Engine>;

/// cuDNN, opened when the first convolution runs: making plans needs neither it nor a GPU.
class Cudnn {
 public:
  explicit Cudnn(CudnnOptions options) : options_(std::move(options)) {}
  ~Cudnn() {
    engines_.clear();
    if (handle_) fe::detail::destroy_handle(handle_);
  }
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  const CudnnOptions& options() const { return options_; }
  TuneCache& cache() { return *cache_; }
  /// The engine that was chosen for this pass of a convolution; empty while none is.
  EnginePointer& engine(const std::string& pass) { return engines_[pass]; }
  std::string version() const {
    const size_t v = fe::detail::get_backend_version();
    return std::to_string(v / 10000) + '.' + std::to_string(v % 10000 / 100) + '.' + std::to_string(v % 100);
  }

  cudnnHandle_t handle(cudaStream_t stream) {
    if (handle_) return handle_;
    const SharedLibrary& library = cudnn_library();
    if (!library.loaded())
      throw DeviceError("cuDNN cannot be loaded: " + library.problem(), "",
                        "`brightnet doctor` says what is missing");
    fe::cudnn_dlhandle = library.handle();
    cudnnStatus_t status = fe::detail::create_handle(&handle_);
    if (status == CUDNN_STATUS_SUCCESS) status = fe::detail::set_stream(handle_, stream);
    if (status != CUDNN_STATUS_SUCCESS) {
      throw DeviceError(std::string("cuDNN does not start: ") + fe::detail::get_error_string(status),
                        library.path(), "`brightnet doctor` looks at the versions of driver and cuDNN");
    }
    cache_ = std::make_unique<TuneCache>(tune_cache_file(options_.gpu, version()));
    return handle_;
  }

 private:
  CudnnOptions options_;
  cudnnHandle_t handle_ = nullptr;
  std::unique_ptr<TuneCache> cache_;
  std::map<std::string, EnginePointer> engines_;
};

/// A tensor of a convolution graph, channels last.
TensorPointer channels_last(Graph& graph, int64_t slot, const char* name, int64_t n, int64_t c, int64_t h,
                            int64_t w, DType type) {
  return graph.tensor(Tensor_attributes()
                          .set_name(name)
                          .set_uid(slot)
                          .set_dim({n, c, h, w})
                          .set_stride({h * w * c, 1, w * c, c})
                          .set_data_type(frontend_type(type)));
}

TensorPointer image(Graph& graph, int64_t slot, const char* name, const Shape& shape, DType type) {
  return channels_last(graph, slot, name, shape.n, shape.c, shape.h, shape.w, type);
}

void set_output(const TensorPointer& tensor, int64_t slot, int64_t n, int64_t c, int64_t h, int64_t w,
                DType type) {
  tensor->set_output(true)
      .set_uid(slot)
      .set_dim({n, c, h, w})
      .set_stride({h * w * c, 1, w * c, c})
      .set_data_type(frontend_type(type));
}

class CudnnConvolution : public Convolution {
 public:
  CudnnConvolution(const ConvolutionSpec& spec, cudaStream_t stream, std::shared_ptr<Cudnn> cudnn)
      : spec_(spec), stream_(stream), cudnn_(std::move(cudnn)), engine_bytes_(convolution_workspace(spec)) {}

  // In fp32 training the masters are the working weights.
  size_t weight_bytes() const override {
    return uses_masters() ? 0 : aligned(spec_.weight_count() * size_of(spec_.type));
  }
  size_t workspace_bytes() const override {
    return aligned(engine_bytes_) + (spec_.training ? aligned(spec_.weight_count() * sizeof(float)) : 0);
  }
  void bind(void* weights, void* workspace) override {
    weights_ = weights;
    workspace_ = workspace;
    gradient_ = static_cast<std::byte*>(workspace) + aligned(engine_bytes_);
  }

  void prepare(const float* master) override {
    if (uses_masters()) {
      weights_ = const_cast<float*>(master);
    } else {
      const Shape flat{1, 1, 1, static_cast<int>(spec_.weight_count())};
      cast({const_cast<float*>(master), flat, DType::f32}, {weights_, flat, spec_.type}, stream_);
    }
  }

  void forward(const Tensor& x, const float* bias, const Tensor& y) override {
    const Pointers pointers{
        {x_slot, x.data}, {w_slot, weights_}, {y_slot, y.data}, {bias_slot, const_cast<float*>(bias)}};
    run(forward_, "forward", pointers, [&] { return forward_variants(); });
  }

  void backward_data(const Tensor& dy, const Tensor& dx) override {
    BRIGHTNET_CHECK(spec_.training && spec_.input_gradient,
                    "this convolution was planned without an input gradient");
    const Pointers pointers{{x_slot, dx.data}, {w_slot, weights_}, {y_slot, dy.data}};
    run(backward_data_, "backward data", pointers, [&] {
      return std::vector<Variant>{{"plain", backward_data_graph(), {}}};
    });
  }

  void backward_weights(const Tensor& x, const Tensor& dy, float* dw, bool accumulate) override {
    BRIGHTNET_CHECK(spec_.training, "this convolution was planned for inference");
    Pointers pointers{{x_slot, x.data}, {w_slot, gradient_}, {y_slot, dy.data}};
    choose_once(backward_weights_, "backward weights", pointers, [&] { return backward_weights_variants(); });
    const bool direct = gradient_type() == DType::f32 && !accumulate && dw;
    if (direct) pointers[w_slot] = dw;
    execute(*backward_weights_, pointers);
    if (direct || !dw) return;
    const Shape flat{1, 1, 1, static_cast<int>(spec_.weight_count())};
    add_weight_gradient({gradient_, flat, gradient_type()}, dw, accumulate, stream_);
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
  bool uses_masters() const { return spec_.training && spec_.type == DType::f32; }
  DType gradient_type() const { return backward_weights_->variant.name == "fp32" ? DType::f32 : spec_.type; }

  // Graphs.

  std::shared_ptr<Graph> new_graph() const {
    auto graph = std::make_shared<Graph>();
    graph->set_io_data_type(frontend_type(spec_.type))
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    return graph;
  }
  TensorPointer input(Graph& graph) const { return image(graph, x_slot, "x", spec_.input, spec_.type); }
  TensorPointer output(Graph& graph) const { return image(graph, y_slot, "y", spec_.output, spec_.type); }
  TensorPointer weights(Graph& graph) const {
    return channels_last(graph, w_slot, "w", spec_.output.c, spec_.input.c, spec_.kernel, spec_.kernel,
                         spec_.type);
  }
  template <typename Attributes>
  Attributes geometry() const {
    return Attributes()
        .set_padding({spec_.padding, spec_.padding})
        .set_stride({spec_.stride, spec_.stride})
        .set_dilation({1, 1});
  }
  void set_image_output(const TensorPointer& tensor, int64_t slot, const Shape& s) const {
    set_output(tensor, slot, s.n, s.c, s.h, s.w, spec_.type);
  }

  std::vector<Variant> forward_variants() {
    std::vector<Variant> variants;
    const bool epilogue = spec_.bias || spec_.activation != Activation::linear;
    if (epilogue && spec_.output.count() * size_of(spec_.type) >= least_fused_bytes)
      variants.push_back({"fused", forward_graph(true), {}});
    Variant plain{"plain", forward_graph(false), {}};
    if (epilogue) {
      plain.epilogue = [spec = spec_, stream = stream_](const Pointers& pointers) {
        bias_activation({pointers.at(y_slot), spec.output, spec.type},
                        static_cast<const float*>(pointers.at(bias_slot)), spec.activation, stream);
      };
    }
    variants.push_back(std::move(plain));
    return variants;
  }

  std::shared_ptr<Graph> forward_graph(bool fused) const {
    auto graph = new_graph();
    auto y = graph->conv_fprop(input(*graph), weights(*graph), geometry<fe::graph::Conv_fprop_attributes>());
    if (fused) {
      const auto bias = channels_last(*graph, bias_slot, "bias", 1, spec_.output.c, 1, 1, DType::f32);
      y = activated(*graph, pointwise(*graph, fe::PointwiseMode_t::ADD, y, bias));
    }
    set_image_output(y, y_slot, spec_.output);
    return graph;
  }

  static TensorPointer pointwise(Graph& graph, fe::PointwiseMode_t mode, const TensorPointer& a,
                                 const TensorPointer& b = nullptr) {
    const auto attributes = fe::graph::Pointwise_attributes().set_mode(mode);
    return b ? graph.pointwise(a, b, attributes) : graph.pointwise(a, attributes);
  }

  TensorPointer activated(Graph& graph, const TensorPointer& x) const {
    using Mode = fe::PointwiseMode_t;
    switch (spec_.activation) {
      case Activation::linear:
        return x;
      case Activation::relu:
        return pointwise(graph, Mode::RELU_FWD, x);
      case Activation::leaky:
        return graph.pointwise(
            x, fe::graph::Pointwise_attributes().set_mode(Mode::RELU_FWD).set_relu_lower_clip_slope(0.1f));
      case Activation::mish:
        return pointwise(graph, Mode::MUL, x,
                         pointwise(graph, Mode::TANH_FWD, pointwise(graph, Mode::SOFTPLUS_FWD, x)));
      case Activation::swish:
        return graph.pointwise(
            x, fe::graph::Pointwise_attributes().set_mode(Mode::SWISH_FWD).set_swish_beta(1.0f));
      case Activation::logistic:
        return pointwise(graph, Mode::SIGMOID_FWD, x);
    }
    return x;
  }

  std::shared_ptr<Graph> backward_data_graph() const {
    auto graph = new_graph();
    const auto dx =
        graph->conv_dgrad(output(*graph), weights(*graph), geometry<fe::graph::Conv_dgrad_attributes>());
    set_image_output(dx, x_slot, spec_.input);
    return graph;
  }

  // fp32 first; an engine that rounds is taken only where there is none that does not.
  std::vector<Variant> backward_weights_variants() {
    std::vector<Variant> variants{{"fp32", backward_weights_graph(DType::f32), {}}};
    if (spec_.type != DType::f32) variants.push_back({"rounded", backward_weights_graph(spec_.type), {}});
    return variants;
  }

  std::shared_ptr<Graph> backward_weights_graph(DType type) const {
    auto graph = new_graph();
    const auto dw =
        graph->conv_wgrad(output(*graph), input(*graph), geometry<fe::graph::Conv_wgrad_attributes>());
    set_output(dw, w_slot, spec_.output.c, spec_.input.c, spec_.kernel, spec_.kernel, type);
    return graph;
  }

  // Engines.

  template <typename Variants>
  void run(EnginePointer& engine, const char* pass, const Pointers& pointers, Variants&& variants) {
    choose_once(engine, pass, pointers, variants);
    execute(*engine, pointers);
  }

  void execute(const Engine& engine, const Pointers& pointers) {
    auto status = try_execute(engine, pointers);
    if (status.is_bad()) {
      throw DeviceError(
          "cuDNN failed in " + engine.name + " of the convolution " + key("") + ": " + status.get_message(),
          "", "`brightnet doctor` tries convolutions in each precision");
    }
  }

  fe::error_t try_execute(const Engine& engine, const Pointers& pointers) const {
    Pointers own = pointers;  // the frontend adds to it
    auto status =
        engine.variant.graph->execute_plan_at_index(cudnn_->handle(stream_), own, workspace_, engine.index);
    if (status.is_good() && engine.variant.epilogue) engine.variant.epilogue(pointers);
    return status;
  }

  template <typename Variants>
  void choose_once(EnginePointer& engine, const char* pass, const Pointers& pointers, Variants&& variants) {
    if (engine) return;
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream_, &capturing), "ask whether a graph is captured");
    BRIGHTNET_CHECK(capturing == cudaStreamCaptureStatusNone,
                    "a convolution chose its engine inside a graph");
    const cudnnHandle_t handle = cudnn_->handle(stream_);  // opens the cache
    const std::string name = key(pass);
    EnginePointer& chosen = cudnn_->engine(name);
    const std::string remembered = cudnn_->cache().find(name);
    if (!chosen && !remembered.empty()) chosen = named(variants(), handle, remembered);
    // Also what was remembered and is no longer offered, by another build of the same version, is measured.
    if (!chosen) {
      chosen = fastest(variants(), handle, pointers, name);
      cudnn_->cache().remember(name, chosen->name);
      cudnn_->cache().save();  // a run that is killed need not be measured again
    }
    engine = chosen;
  }

  EnginePointer named(std::vector<Variant> variants, cudnnHandle_t handle, const std::string& name) const {
    for (const Variant& variant : variants) {
      const bool own = name.rfind(variant.name + ':', 0) == 0;
      if (!own || !plan_engines(*variant.graph, handle).empty()) continue;
      for (int64_t i = 0; i < variant.graph->get_execution_plan_count(); ++i) {
        if (engine_name(variant, i) == name && variant.graph->build_plan_at_index(i).is_good())
          return std::make_shared<const Engine>(Engine{variant, i, name});
      }
    }
    return nullptr;
  }

  EnginePointer fastest(std::vector<Variant> variants, cudnnHandle_t handle, const Pointers& pointers,
                        const std::string& name) const {
    std::string problems;
    Timed best;
    for (const Variant& variant : variants) {
      if (const std::string problem = plan_engines(*variant.graph, handle); problem.empty()) {
        keep_fastest(best, variant, pointers);
      } else {
        problems += ' ' + problem;
      }
      if (best.engine && variant.name == "fp32") break;
    }
    if (best.engine) return best.engine;
    throw DeviceError(
        "cuDNN " + cudnn_->version() + " has no engine for the convolution " + name + ":" + problems, "",
        "Try another precision or another version of cuDNN");
  }

  /// Asks the heuristics for the engines of a graph, best first; a reason when there are none.
  std::string plan_engines(Graph& graph, cudnnHandle_t handle) const {
    auto status = graph.validate();
    if (status.is_good()) status = graph.build_operation_graph(handle);
    if (status.is_good())
      status = graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK});
    if (status.is_bad()) return status.get_message();
    using Note = fe::NumericalNote_t;
    std::vector<Note> unwanted{Note::REDUCED_PRECISION_REDUCTION, Note::FFT, Note::WINOGRAD_TILE_6x6,
                               Note::WINOGRAD_TILE_13x13};
    if (spec_.type == DType::f32 && !cudnn_->options().tensor_float) {
      unwanted.push_back(Note::TENSOR_CORE);
      unwanted.push_back(Note::DOWN_CONVERT_INPUTS);
    }
    if (cudnn_->options().deterministic) unwanted.push_back(Note::NONDETERMINISTIC);
    graph.deselect_numeric_notes(unwanted);
    graph.deselect_workspace_greater_than(static_cast<int64_t>(engine_bytes_));
    return "";
  }

  static std::string engine_name(const Variant& variant, int64_t index) {
    std::string tag;
    if (variant.graph->get_plan_name_at_index(index, tag).is_bad()) tag = "engine " + std::to_string(index);
    return variant.name + ':' + tag;
  }

  struct Timed {
    EnginePointer engine;
    float milliseconds = std::numeric_limits<float>::max();
  };

  static bool is_compiled_now(const Graph& graph, int64_t index) {
    std::vector<fe::BehaviorNote_t> notes;
    return graph.get_behavior_notes_for_plan_at_index(index, notes).is_good() &&
           std::count(notes.begin(), notes.end(), fe::BehaviorNote_t::RUNTIME_COMPILATION) > 0;
  }

  void keep_fastest(Timed& best, const Variant& variant, const Pointers& pointers) const {
    int timed = 0, compiled = 0;
    for (int64_t i = 0; i < variant.graph->get_execution_plan_count() && timed < most_engines; ++i) {
      const bool compiles = is_compiled_now(*variant.graph, i);
      if (compiles && compiled == most_compiled) continue;
      if (variant.graph->build_plan_at_index(i).is_bad()) continue;
      const Engine candidate{variant, i, engine_name(variant, i)};
      const float milliseconds = time(candidate, pointers);
      if (milliseconds < 0) continue;
      ++timed;
      compiled += compiles ? 1 : 0;
      if (milliseconds < best.milliseconds) best = {std::make_shared<const Engine>(candidate), milliseconds};
    }
  }

  /// The shortest of some runs, after one to warm up; negative when the engine does not run.
  float time(const Engine& engine, const Pointers& pointers) const {
    if (try_execute(engine, pointers).is_bad()) return -1;
    const Event begin(true), end(true);
    float shortest = std::numeric_limits<float>::max();
    for (int i = 0; i < timed_runs; ++i) {
      begin.record(stream_);
      if (try_execute(engine, pointers).is_bad()) return -1;
      end.record(stream_);
      end.synchronize();
      shortest = std::min(shortest, end.elapsed_ms(begin));
    }
    return shortest;
  }

  /// What the cache knows this convolution's pass by.
  std::string key(const std::string& pass) const {
    std::string text = to_string(spec_.input) + " -> " + to_string(spec_.output) + " k" +
                       std::to_string(spec_.kernel) + " s" + std::to_string(spec_.stride) + " p" +
                       std::to_string(spec_.padding) + ' ' + std::string(to_string(spec_.type));
    if (spec_.bias) text += " bias";
    if (spec_.activation != Activation::linear)
      text += " activation" + std::to_string(static_cast<int>(spec_.activation));
    if (cudnn_->options().tensor_float) text += " tf32";
    if (cudnn_->options().deterministic) text += " deterministic";
    return pass + (pass.empty() ? "" : " ") + text + " in " + std::to_string(engine_bytes_);
  }

  const ConvolutionSpec spec_;
  const cudaStream_t stream_;
  const std::shared_ptr<Cudnn> cudnn_;
  const size_t engine_bytes_;
  void *weights_ = nullptr, *workspace_ = nullptr, *gradient_ = nullptr;
  EnginePointer forward_, backward_data_, backward_weights_;
};

}  // namespace

// Split sums of weight gradients and transposed inputs want about this much; an engine that wants more is not
// taken.
size_t convolution_workspace(const ConvolutionSpec& spec) {
  constexpr size_t least = size_t{4} << 20, most = size_t{256} << 20;
  const size_t tensors = (spec.input.count() + spec.output.count()) * size_of(spec.type);
  const size_t weights = spec.weight_count() * sizeof(float);
  return std::clamp(spec.training ? tensors + 8 * weights : tensors, least, most);
}

ConvolutionFactory cudnn_convolutions(const CudnnOptions& options) {
  return [cudnn = std::make_shared<Cudnn>(options)](const ConvolutionSpec& spec,
                                                    cudaStream_t stream) -> std::unique_ptr<Convolution> {
    return std::make_unique<CudnnConvolution>(spec, stream, cudnn);
  };
}

}  // namespace brightnet::cuda
