// The layers of a model as a graph, and the passes over it: which layers a training network computes together, so that
// their tensors are written and read less often (private to layers/).
#pragma once

#include <vector>

#include "layers/parameters.h"

namespace brightnet {

/// A layer in the graph. Layers are known by their place in the model; −1: none.
struct GraphNode {
  std::vector<int> inputs;
  std::vector<int> consumers;   ///< ascending
  bool needs_gradient = false;  ///< whether its output has a gradient
  bool normalizes = false;  ///< a convolution with batch-norm by the batch's statistics, in the compute type

  bool quantized = false;  ///< whether its output is stored in 8 bits; set by quantize()

  // Decided by the passes.
  int first_twin = -1, second_twin = -1;  ///< the layer before or after it with which it has one convolution
  int concat = -1;                        ///< the concat that its output is a slice of
  int concat_channel = 0;
  int first_part = -1;  ///< for a concat, the earliest layer whose output is a slice of its own
  int shortcut = -1;    ///< the shortcut whose sum its batch-norm writes
  int summand = -1;     ///< for a shortcut, the layer that writes its sum; `addend` is its other input
  int addend = -1;
  int gradient_input = -1;  ///< for a shortcut, the input whose gradient is the shortcut's, in one memory
};
using Graph = std::vector<GraphNode>;

Graph make_graph(const Model& model, const ParameterLayout& layout, DType type);

/// Runs the passes, for training. `joins_convolutions`: Backend::joins_convolutions().
void fuse(Graph& graph, const Model& model, bool joins_convolutions);

/// Chooses for inference in 8 bits which outputs are stored in 8 bits. All that read one must be 8-bit
/// convolutions or layers that move values, and whatever shares its range must be as well; what a layer that
/// stays in floating point reads or writes is stored as fp32, and an 8-bit convolution that reads it rounds
/// it for itself. Returns whether the image, by the same rule, is stored in 8 bits.
bool quantize(Graph& graph, const Model& model);

}  // namespace brightnet
