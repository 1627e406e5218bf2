#include "layers/graph.h"

#include <algorithm>

#include "layers/twin_convolutions.h"

namespace brightnet {
namespace {

bool normalizes(const LayerDescription& layer, DType type) {
  const auto* conv = std::get_if<ConvAttributes>(&layer.attributes);
  const bool widened = conv && conv->full_precision && type != DType::f32;
  return conv && conv->batch_norm && layer.rate > 0 && !widened;
}

// Two convolutions in a row that read the same tensor are one, if batch-norm follows both: it can read a slice of their
// common output, and all others see what batch-norm writes, wherever that lies. In inference, and in frozen layers, the
// convolution itself writes the layer's output, which must be a tensor of its own. That one follows the other makes the
// common output and its gradient short-lived. Only the first reads their input then, and writes its gradient.
void join_twins(Graph& graph, const Model& model) {
  for (int i = 0; i + 1 < static_cast<int>(graph.size()); ++i) {
    const int next = i + 1;
    GraphNode &first = graph[i], &second = graph[next];
    const bool joins = first.first_twin < 0 && first.normalizes && second.normalizes &&
                       first.inputs == second.inputs &&
                       can_be_twins(std::get<ConvAttributes>(model.layers[i].attributes),
                                    std::get<ConvAttributes>(model.layers[next].attributes));
    if (!joins) continue;
    first.second_twin = next;
    second.first_twin = i;
    const int input = first.inputs[0];
    if (input != network_input) std::erase(graph[input].consumers, next);
  }
}

// Batch-norm can write its output directly into its slice of a concat and read its gradient there, which saves the
// copies of YOLO's many concats. The output is then not dense, so that only the concat, and splits before it, may read
// it. The concat must be the last of them: in the backward pass its gradient is written first and the splits add to it.
void place_in_concats(Graph& graph, const Model& model) {
  const auto& layers = model.layers;
  for (int i = 0; i < static_cast<int>(graph.size()); ++i) {
    if (!std::holds_alternative<ConcatAttributes>(layers[i].attributes)) continue;
    int channel = 0;
    for (const int input : graph[i].inputs) {
      const int first_channel = channel;
      channel += input == network_input ? model.channels : layers[input].channels;
      if (input == network_input) continue;
      GraphNode& part = graph[input];
      const auto& consumers = part.consumers;
      const bool placeable = part.normalizes && consumers.back() == i &&
                             std::all_of(consumers.begin(), consumers.end() - 1, [&](int consumer) {
                               return std::holds_alternative<SplitAttributes>(layers[consumer].attributes);
                             });
      if (!placeable) continue;
      part.concat = i;
      part.concat_channel = first_channel;
      graph[i].first_part = graph[i].first_part < 0 ? input : std::min(graph[i].first_part, input);
    }
  }
}

// The batch-norm before a shortcut can add the other input while it writes its output, which nobody else reads: that
// saves writing the summand and reading both, and the summand's gradient is the sum's.
void place_in_shortcuts(Graph& graph, const Model& model) {
  const auto& layers = model.layers;
  for (int i = 0; i < static_cast<int>(graph.size()); ++i) {
    const auto* shortcut = std::get_if<ShortcutAttributes>(&layers[i].attributes);
    if (!shortcut || shortcut->activation != Activation::linear) continue;
    const auto [addend, summand] = std::minmax(graph[i].inputs[0], graph[i].inputs[1]);
    if (addend == network_input || addend == summand || graph[addend].concat >= 0) continue;
    const bool foldable = graph[summand].normalizes && graph[summand].consumers.size() == 1 &&
                          layers[addend].channels == layers[summand].channels;
    if (!foldable) continue;
    graph[i].summand = summand;
    graph[i].addend = addend;
    graph[summand].shortcut = i;
  }
}

// The gradient of a sum is the gradient of each input, so that one input can share its memory: an input for which this
// gradient is the first to be written.
void share_gradients_of_shortcuts(Graph& graph, const Model& model) {
  for (int i = 0; i < static_cast<int>(graph.size()); ++i) {
    GraphNode& node = graph[i];
    if (!std::holds_alternative<ShortcutAttributes>(model.layers[i].attributes)) continue;
    for (const int input : node.inputs) {
      if (input == network_input || std::count(node.inputs.begin(), node.inputs.end(), input) > 1) continue;
      if (input == node.summand) continue;  // its gradient is the sum's anyway
      const GraphNode& source = graph[input];
      const auto& readers = source.consumers;
      // Another consumer must not add to it before the summand has read it.
      const bool early = node.summand >= 0 && readers.size() > 1 && readers.rbegin()[1] > node.summand;
      const bool own_gradient = source.needs_gradient && source.concat < 0 && source.shortcut < 0;
      if (early || !own_gradient || model.layers[input].channels != model.layers[i].channels) continue;
      if (readers.back() != i) continue;
      node.gradient_input = input;
      break;
    }
  }
}

}  // namespace

Graph make_graph(const Model& model, const ParameterLayout& layout, DType type) {
  Graph graph(model.layers.size());
  for (int i = 0; i < static_cast<int>(graph.size()); ++i) {
    const LayerDescription& layer = model.layers[i];
    GraphNode& node = graph[i];
    node.inputs = layer.inputs;
    node.normalizes = normalizes(layer, type);
    node.needs_gradient = layer.rate > 0 && layout.has_trainable(i);
    for (const int input : node.inputs) {
      if (input == network_input) continue;
      graph[input].consumers.push_back(i);
      node.needs_gradient = node.needs_gradient || graph[input].needs_gradient;
    }
  }
  return graph;
}

bool quantize(Graph& graph, const Model& model) {
  const std::vector<int> ranges = shared_ranges(model);
  std::vector<bool> stored(ranges.size(), true);  // for each range, at the place of its first layer
  const auto range_of = [&](int layer) { return static_cast<size_t>(ranges[layer + 1]); };
  for (int i = 0; i < static_cast<int>(graph.size()); ++i) {
    const LayerQuantization& layer = model.quantization[i];
    const bool moves = moves_values(model.layers[i]), convolves = !layer.weight_scales.empty();
    if ((!moves && !convolves) || !layer.output) stored[range_of(i)] = false;
    for (const int input : graph[i].inputs) {
      // The image has a range of its own: what moves its pixels beside other values cannot give both one.
      const bool fits = input != network_input || !moves || layer.output == image_range;
      if ((!moves && !convolves) || !fits) stored[range_of(input)] = false;
    }
  }
  for (int i = 0; i < static_cast<int>(graph.size()); ++i) graph[i].quantized = stored[range_of(i)];
  return stored[range_of(network_input)];
}

void fuse(Graph& graph, const Model& model, bool joins_convolutions) {
  if (joins_convolutions) join_twins(graph, model);
  place_in_concats(graph, model);
  place_in_shortcuts(graph, model);
  share_gradients_of_shortcuts(graph, model);
}

}  // namespace brightnet
