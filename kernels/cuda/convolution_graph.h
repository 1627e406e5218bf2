// A convolution's passes as graphs of cuDNN's frontend. Activations are NHWC and weights OHWI, which is what
// cuDNN calls channels-last of NCHW and KCRS.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <cudnn.h>

#include "kernels/convolution.h"
#include "kernels/cuda/runtime.h"

// The frontend's header takes fifteen seconds to compile: only those that make or ask graphs include it.
namespace cudnn_frontend {
enum class HeurMode_t;
class DeviceProperties;
namespace graph {
class Graph;
}
}  // namespace cudnn_frontend

namespace brightnet::cuda {

/// The tensors of a pass. Gradients have the slot of what they are the gradient of.
enum ConvolutionSlot : int64_t {
  x_slot = 1,
  w_slot,
  y_slot,
  bias_slot,
  sum_slot,
  square_sum_slot,
  addend_slot,
  product_slot  ///< the product before the addend is added; has no memory
};
using Pointers = std::unordered_map<int64_t, void*>;

/// One way to do a pass: a graph, and what of ours follows.
struct ConvolutionVariant {
  std::string name;
  std::shared_ptr<cudnn_frontend::graph::Graph> graph;
  /// Convolutions that are alike share an engine and its variant, so the memory of the moment comes with each call.
  using Work = std::function<void(const Pointers&, void* workspace, cudaStream_t)>;
  Work epilogue;   ///< queued after the engine; may be empty
  Work elsewhere;  ///< work that the variant leaves to others: timed with it, and done by them
  /// The engine adds to x_slot, a tensor of this shape, in place, and is taken only if that is seen to be right.
  std::optional<Shape> accumulates{};
};
using ConvolutionVariants = std::vector<ConvolutionVariant>;

/// An engine of a planned variant.
struct ConvolutionEngine {
  ConvolutionVariant variant;
  int64_t index = -1;  ///< place among the graph's execution plans
  std::string name;    ///< "plain:ConvFwd_eng3_k2=1", as the cache knows it
};
std::string engine_name(const ConvolutionVariant& variant, int64_t index);

/// Returns the variants of a forward pass. For inference they have bias and activation in cuDNN's engine ("fused") or in a
/// kernel of ours after it ("plain"). Where batch-norm follows, the sums of its statistics in the engine ("sums") or left to
/// batch-norm ("plain"), which is timed in the engine's workspace.
ConvolutionVariants forward_variants(const ConvolutionSpec& spec);
ConvolutionVariants backward_data_variants(const ConvolutionSpec& spec);
/// Returns the variants of a backward pass that adds to a gradient (addend_slot): the sum in the engine, in
/// place ("sum"), or in a pass of ours after it ("plain").
ConvolutionVariants add_backward_data_variants(const ConvolutionSpec& spec);
/// Returns the variants of a pass whose result is rounded to the compute type, as PyTorch's is: cuDNN has no
/// engine that writes fp32 from half precision.
ConvolutionVariants backward_weights_variants(const ConvolutionSpec& spec);

/// cuDNN's lists of engines for a graph, in the order in which they are timed. B has more than A for fp32 on compute
/// capability 10.0, where A leaves a pass of yolov4 with three.
extern const std::vector<cudnn_frontend::HeurMode_t> engine_lists;

/// The limits that an engine must keep.
struct EngineLimits {
  bool tensor_float = false;   ///< fp32 factors may be rounded to tf32, and to nothing less
  bool deterministic = false;  ///< the result is the same in every run
  size_t workspace_bytes = 0;
};
/// Deselects the engines of a planned graph that exceed these limits, or that compute in less than fp32:
/// reduced sums, transforms (FFT, large Winograd tiles), factors converted to a smaller type.
void deselect_engines(cudnn_frontend::graph::Graph& graph, DType type, const EngineLimits& limits);

/// The engines of planned variants that are not deselected and that cuDNN supports, those first that the heuristics
/// prefer: the variants take turns, so that each of them is timed however short the time is. Nothing is compiled for this.
std::vector<ConvolutionEngine> usable_engines(const ConvolutionVariants& variants);

/// Whether cuDNN has engines that compute the sums of batch-norm's statistics in this type, on a card with these
/// properties. cuDNN 9.8 or newer can be asked.
bool has_engines_with_sums(DType type, const std::shared_ptr<const cudnn_frontend::DeviceProperties>& card);

}  // namespace brightnet::cuda
