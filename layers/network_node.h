// A layer in a network's graph and in its memory: what planning decides and execution reads.
#pragma once

#include <memory>
#include <vector>

#include "layers/convolution.h"
#include "layers/graph.h"
#include "layers/network.h"
#include "layers/yolo.h"

namespace brightnet {

/// Buffers are indices into the arena plan; −1: none.
struct Network::Node : GraphNode {
  explicit Node(GraphNode&& node) : GraphNode(std::move(node)) {}

  Shape shape;
  int zero_outputs = 0;  ///< channels in memory beyond those of the shape
  // The layer itself, if it is one of these.
  YoloLayer* head = nullptr;
  ConvolutionLayer* convolution = nullptr;
  int output = -1, gradient = -1, saved = -1, rounded_gradient = -1;
  bool converts = false;  ///< whether the gradients rounded so far are converted after its backward pass
  size_t weights_offset = 0;
  ArenaRange workspace;
  MemoryNeeds needs;

  // For an output that is recomputed for the backward pass instead of being kept.
  bool is_rebuilt = false;
  int rebuilt_before = -1;  ///< the layer whose backward call is the first to read the output, in that order
  int rebuilt = -1;

  // The tensors of its calls, fixed once the arena is bound. The backward pass may read recomputed copies.
  std::vector<Tensor> input_tensors, backward_input_tensors, input_gradients;
  std::unique_ptr<bool[]> accumulate;
  Tensor output_tensor, backward_tensor, output_gradient, addend_tensor;
};

}  // namespace brightnet
