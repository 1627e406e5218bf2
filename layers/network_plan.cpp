// Planning of a network: which convolutions are computed as one, which outputs are written directly into a concat or
// a shortcut's sum, which are recomputed for the backward pass instead of being kept, and during which calls each
// buffer of the arena is alive.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/alignment.h"
#include "core/error.h"
#include "layers/network_input.h"
#include "layers/network_node.h"
#include "layers/twin_convolutions.h"

namespace brightnet {
namespace {

/// Bytes of rounded gradients that wait at the same time, but for the last one.
constexpr size_t most_rounded_gradients = size_t{32} << 20;

}  // namespace

void Network::connect() {
  const Model& model = *setup_.model;
  nodes_.resize(model.layers.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].inputs = model.layers[i].inputs;
    for (const int input : nodes_[i].inputs) {
      if (input != network_input) nodes_[input].consumers.push_back(static_cast<int>(i));
    }
  }
}

// In training, two convolutions in a row that read the same tensor are one, if batch-norm follows both: it can read a
// slice of their common output, and all others see what batch-norm writes, wherever that lies. In inference, and in
// frozen layers, the convolution itself writes the layer's output, which must be a tensor of its own. That one follows
// the other makes the common output and its gradient short-lived. Only the first reads their input then, and writes
// its gradient.
void Network::join_twins() {
  const auto& layers = setup_.model->layers;
  for (int i = 0; i + 1 < static_cast<int>(nodes_.size()); ++i) {
    const int next = i + 1;
    const bool joins = nodes_[i].twin < 0 && normalizes(i) && normalizes(next) &&
                       nodes_[i].inputs == nodes_[next].inputs &&
                       can_be_twins(std::get<ConvAttributes>(layers[i].attributes),
                                    std::get<ConvAttributes>(layers[next].attributes));
    if (!joins) continue;
    nodes_[i].twin = next;
    nodes_[next].twin = i;
    const int input = nodes_[i].inputs[0];
    if (input != network_input) std::erase(nodes_[input].consumers, next);
  }
}

/// The passes of its convolution are those of the layer before.
bool Network::is_second_twin(int layer) const {
  return nodes_[layer].twin >= 0 && nodes_[layer].twin < layer;
}

// In training, batch-norm can write its output directly into its slice of a concat and read its gradient
// there, which saves the copies of YOLO's many concats. The output is then not dense, so that only the
// concat, and splits before it, may read it. The concat must be the last of them: in the backward pass its
// gradient is written first and the splits add to it.
void Network::place_in_concats() {
  const auto& layers = setup_.model->layers;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!std::holds_alternative<ConcatAttributes>(layers[i].attributes)) continue;
    int channel = 0;
    for (const int input : nodes_[i].inputs) {
      const int first_channel = channel;
      channel += input == network_input ? setup_.model->channels : layers[input].channels;
      if (input == network_input) continue;
      const auto& consumers = nodes_[input].consumers;
      const bool placeable = normalizes(input) && consumers.back() == static_cast<int>(i) &&
                             std::all_of(consumers.begin(), consumers.end() - 1, [&](int consumer) {
                               return std::holds_alternative<SplitAttributes>(layers[consumer].attributes);
                             });
      if (!placeable) continue;
      nodes_[input].concat = static_cast<int>(i);
      nodes_[input].concat_channel = first_channel;
      nodes_[i].first_part = nodes_[i].first_part < 0 ? input : std::min(nodes_[i].first_part, input);
    }
  }
}

// The batch-norm before a shortcut can add the other input while it writes its output, which nobody else reads:
// that saves writing the summand and reading both, and the summand's gradient is the sum's.
void Network::place_in_shortcuts() {
  const auto& layers = setup_.model->layers;
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    const auto* shortcut = std::get_if<ShortcutAttributes>(&layers[i].attributes);
    if (!shortcut || shortcut->activation != Activation::linear) continue;
    const auto [addend, summand] = std::minmax(nodes_[i].inputs[0], nodes_[i].inputs[1]);
    if (addend == network_input || addend == summand || nodes_[addend].concat >= 0) continue;
    const bool foldable = normalizes(summand) && nodes_[summand].consumers.size() == 1 &&
                          layers[addend].channels == layers[summand].channels;
    if (!foldable) continue;
    nodes_[i].summand = summand;
    nodes_[i].addend = addend;
    nodes_[summand].shortcut = i;
  }
}

/// Whether this is a convolution with batch-norm by the batch's statistics, in the network's compute type.
bool Network::normalizes(int layer) const {
  const auto* conv = std::get_if<ConvAttributes>(&setup_.model->layers[layer].attributes);
  const bool widened = conv && conv->full_precision && type_ != DType::f32;
  return conv && conv->batch_norm && setup_.model->layers[layer].rate > 0 && !widened;
}

namespace {

/// A batch and an input may each be allowed and still be too many pixels together: oneDNN counts them in 32 bits, and
/// 64 bits do not count every product of them with channels and bytes.
void check_countable(const LayerSetup& setup) {
  std::vector<Shape> shapes = setup.inputs;
  shapes.push_back(output_shape(setup.description, setup.inputs));
  for (const Shape& shape : shapes) {
    const double pixels = static_cast<double>(shape.n) * shape.h * shape.w;
    if (pixels <= std::numeric_limits<int32_t>::max()) continue;
    throw InputError(
        fmt::format("the layer '{}' would have {:.0f} pixels, a batch of {} times {} x {}: more than the {} "
                    "that can be counted",
                    setup.description.name, pixels, shape.n, shape.h, shape.w,
                    std::numeric_limits<int32_t>::max()),
        "", "Give a smaller batch or input.");
  }
}

}  // namespace

/// Of a layer whose inputs' layers are made.
LayerSetup Network::layer_setup(int layer) const {
  const Node& node = nodes_[layer];
  LayerSetup setup{
      setup_.model->layers[layer], {}, *setup_.backend, *setup_.parameters, setup_.mode, type_, x_.shape};
  setup.statistics = setup_.statistics;
  for (const int input : node.inputs)
    setup.inputs.push_back(input == network_input ? x_.shape : nodes_[input].shape);
  const int first = node.inputs[0];
  setup.input_gradient = first != network_input && nodes_[first].needs_gradient;
  setup.adds_input_gradient =
      setup_.mode == Mode::train && setup.input_gradient && nodes_[first].consumers.back() != layer;
  setup.output_in_concat = node.concat >= 0;
  setup.output_in_shortcut = node.shortcut >= 0;
  setup.loss_of_inference = setup_.loss_of_inference;
  check_countable(setup);
  return setup;
}

void Network::make_layers() {
  const Model& model = *setup_.model;
  x_ = {nullptr, {setup_.batch, setup_.height, setup_.width, model.channels}, type_};
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    Node& node = nodes_[i];
    node.needs_gradient = model.layers[i].rate > 0 && setup_.parameters->layout->has_trainable(i);
    for (const int input : node.inputs)
      node.needs_gradient = node.needs_gradient || (input != network_input && nodes_[input].needs_gradient);
    if (node.twin > i) {
      TwinLayers twins = make_twin_layers(layer_setup(i), layer_setup(node.twin));
      layers_.push_back(std::move(twins.first));
      layers_.push_back(std::move(twins.second));
    } else if (!is_second_twin(i)) {
      layers_.push_back(make_layer(layer_setup(i)));
    }
    node.shape = layers_[i]->output_shape();
    node.head = layers_[i]->head();
  }
}

// A convolution's output is kept anyway, and the batch-norm and activation after it can be recomputed, as a
// separate tensor or as a slice of a concat. A concat that is recomputed copies its other parts again, so
// that these must still be alive.
void Network::choose_rebuilt() {
  for (int i = layer_count() - 1; i >= 0; --i) {
    Node& node = nodes_[i];
    if (!(normalizes(i) && node.concat < 0) && node.first_part < 0) continue;
    for (const int consumer : node.consumers) {
      const Node& reader = nodes_[consumer];
      if (layers_[consumer]->backward_reads_inputs())
        node.rebuilt_before = std::max(node.rebuilt_before, consumer);
      if (reader.is_rebuilt && layers_[consumer]->rebuilds_from_inputs())
        node.rebuilt_before = std::max(node.rebuilt_before, reader.rebuilt_before);
    }
    node.is_rebuilt = node.rebuilt_before >= 0;
  }
}

// The gradient of a sum is the gradient of each input, so that one input can share its memory: an input for
// which this gradient is the first to be written.
int Network::input_sharing_gradient(int layer) const {
  const Node& node = nodes_[layer];
  if (!std::holds_alternative<ShortcutAttributes>(setup_.model->layers[layer].attributes)) return -1;
  for (const int input : node.inputs) {
    if (input == network_input || std::count(node.inputs.begin(), node.inputs.end(), input) > 1) continue;
    if (input == node.summand) continue;  // has it anyway
    const Node& source = nodes_[input];
    // Another consumer must not add to it before the summand has read it.
    const auto readers = static_cast<long>(source.consumers.size());
    const bool early = node.summand >= 0 && readers > 1 && source.consumers[readers - 2] > node.summand;
    if (early) continue;
    if (source.gradient >= 0 && source.shape == node.shape && source.consumers.back() == layer) return input;
  }
  return -1;
}

// Gradients that are rounded are converted together, and keep their memory until then: for all of yolov4 at once that
// would be as much as its weights.
void Network::choose_conversions() {
  size_t waiting = 0;
  for (int i = layer_count() - 1; i >= 0; --i) {
    waiting += layers_[i]->memory_needs().rounded_gradient;
    nodes_[i].converts = waiting >= most_rounded_gradients;
    if (nodes_[i].converts) waiting = 0;
  }
}

// The time line: layer i runs forward at time i and backward at time 2·layers − 1 − i.
void Network::plan_memory() {
  const bool training = setup_.mode == Mode::train;
  const int count = layer_count();
  const int end = training ? 2 * count - 1 : count - 1;
  const auto backward_time = [&](int layer) { return 2 * count - 1 - layer; };
  std::vector<Lifetime> lives;
  size_t preparing = 0, workspace = 0;
  const auto add = [&](size_t bytes, int first, int last) {
    if (bytes == 0) return -1;
    lives.push_back({bytes, first, last});
    return static_cast<int>(lives.size()) - 1;
  };
  // When the last of these consumers reads a tensor: in the forward pass, and in the backward pass.
  const auto last_forward = [&](const std::vector<int>& consumers, int produced) {
    int last = produced;
    for (const int consumer : consumers) last = std::max(last, nodes_[consumer].head ? end : consumer);
    return last;
  };
  const auto last_backward = [&](const std::vector<int>& consumers) {
    int last = -1;
    for (const int consumer : consumers) {
      if (training && nodes_[consumer].needs_gradient && layers_[consumer]->backward_reads_inputs())
        last = std::max(last, backward_time(consumer));
      if (nodes_[consumer].is_rebuilt && layers_[consumer]->rebuilds_from_inputs())
        last = std::max(last, backward_time(nodes_[consumer].rebuilt_before));
    }
    return last;
  };

  std::vector<int> image_consumers;
  for (int i = 0; i < count; ++i) {
    if (std::count(nodes_[i].inputs.begin(), nodes_[i].inputs.end(), network_input))
      image_consumers.push_back(i);
  }
  if (training) choose_conversions();
  x_buffer_ = add(x_.bytes(), 0, std::max(last_forward(image_consumers, 0), last_backward(image_consumers)));

  int converting = 0;  // the layer after which this one's gradient is converted
  for (int i = 0; i < count; ++i) {
    Node& node = nodes_[i];
    if (node.converts) converting = i;
    const size_t bytes = node.shape.count() * size_of(type_);
    node.needs = layers_[i]->memory_needs();
    LayerMemoryRow row{setup_.model->layers[i].name, Model::kind(setup_.model->layers[i]), node.shape};
    for (const auto& entry : setup_.parameters->layout->entries()) {
      if (entry.layer == i) row.parameters += entry.count * sizeof(float);
    }
    if (!node.head && node.concat < 0 && node.shortcut < 0) {
      const int first = node.summand >= 0 ? node.summand : node.first_part < 0 ? i : node.first_part;
      const int forward = last_forward(node.consumers, i), backward = last_backward(node.consumers);
      node.output = add(bytes, first, node.is_rebuilt ? forward : std::max(forward, backward));
      if (node.is_rebuilt) node.rebuilt = add(bytes, backward_time(node.rebuilt_before), backward);
      row.activation = bytes;
      if (training && node.needs_gradient) {
        const int begin = backward_time(node.consumers.back());
        if (const int input = input_sharing_gradient(i); input >= 0) {
          node.gradient = nodes_[input].gradient;
          lives[node.gradient].first = begin;
        } else {
          node.gradient = add(bytes, begin, backward_time(first));
          row.gradient = bytes;
        }
      }
    }
    node.saved = add(node.needs.saved, i, training && node.needs_gradient ? backward_time(i) : i);
    if (node.needs_gradient)
      node.rounded_gradient = add(node.needs.rounded_gradient, backward_time(i), backward_time(converting));
    node.weights_offset = memory_.working_weights;
    memory_.working_weights += aligned(node.needs.weights, device_alignment);
    workspace = std::max(workspace, node.needs.workspace);
    preparing = std::max(preparing, node.needs.preparing);
    row.saved = node.needs.saved + node.needs.rounded_gradient;
    row.working_weights = node.needs.weights;
    memory_.rows.push_back(std::move(row));
  }
  workspace_buffer_ = add(workspace, 0, end);

  arena_plan_ = plan_arena(lives);
  plan_workspaces(lives, aligned(preparing, device_alignment));
  for (const Lifetime& life : lives) memory_.unshared += aligned(life.bytes, device_alignment);
  memory_.input = aligned(input_->bytes(), device_alignment);
}

/// The times at which the layer's workspace is in use: its calls, and when its output is recomputed; and those of its
/// second twin.
std::vector<int> Network::times_of_calls(int layer) const {
  const auto backward_time = [&](int i) { return 2 * layer_count() - 1 - i; };
  const Node& node = nodes_[layer];
  std::vector<int> times{layer};
  if (setup_.mode == Mode::train) times.push_back(backward_time(layer));
  if (node.is_rebuilt) times.push_back(backward_time(node.rebuilt_before));
  if (node.concat >= 0 && nodes_[node.concat].is_rebuilt)
    times.push_back(backward_time(nodes_[node.concat].rebuilt_before));
  if (node.twin > layer) {  // which has the same workspace
    for (const int time : times_of_calls(node.twin)) times.push_back(time);
  }
  return times;
}

// One buffer is every layer's workspace; its size is what each of them cannot do without. During a layer's calls
// much of the arena is free: at the ends of the network, where tensors and the workspaces that cuDNN's engines
// want are the largest, nearly all of it. There the layer uses the largest free range, which may include the
// buffer. Where less is free than a layer could use, the buffer grows, by up to a sixteenth of the arena.
void Network::plan_workspaces(std::vector<Lifetime>& lives, size_t preparing) {
  const auto place = [&] {
    size_t missing = 0;
    memory_.step = std::max(arena_plan_.total, preparing);
    for (int i = 0; i < layer_count(); ++i) {
      Node& node = nodes_[i];
      const MemoryNeeds& needs = node.needs;
      if (needs.workspace == 0) continue;
      node.workspace = {arena_plan_.offsets[workspace_buffer_], lives[workspace_buffer_].bytes};
      if (needs.most_workspace > node.workspace.bytes) {
        const ArenaRange free =
            largest_free_range(lives, arena_plan_, memory_.step, times_of_calls(i), workspace_buffer_);
        if (free.bytes > node.workspace.bytes) node.workspace = free;
      }
      if (node.workspace.bytes < needs.most_workspace) missing = std::max(missing, needs.most_workspace);
      memory_.rows[i].workspace =
          std::min(node.workspace.bytes, std::max(needs.workspace, needs.most_workspace));
    }
    return missing;
  };
  const size_t missing = place();
  if (workspace_buffer_ < 0) return;
  const size_t grown = std::min(missing, arena_plan_.total / 16 / device_alignment * device_alignment);
  if (grown <= lives[workspace_buffer_].bytes) return;
  lives[workspace_buffer_].bytes = grown;
  arena_plan_ = plan_arena(lives);
  place();
}

void Network::bind(void* arena) {
  if (arena_ != arena) recordings_.clear();
  arena_ = static_cast<std::byte*>(arena);
  prepared_version_ = 0;
  input_->bind(arena_);
  std::byte* weights = arena_ + memory_.input;
  std::byte* step = weights + memory_.working_weights;
  const auto place = [&](int buffer) -> std::byte* {
    return buffer < 0 ? nullptr : step + arena_plan_.offsets[buffer];
  };
  x_.data = place(x_buffer_);

  // From the last to the first: the tensors of concats and shortcuts are set before those of the layers that
  // write them.
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (node->concat >= 0) {
      const Node& concat = nodes_[node->concat];
      node->output_tensor = slice_channels(concat.output_tensor, node->concat_channel, node->shape.c);
      node->backward_tensor = slice_channels(concat.backward_tensor, node->concat_channel, node->shape.c);
      node->output_gradient = slice_channels(concat.output_gradient, node->concat_channel, node->shape.c);
    } else if (node->shortcut >= 0) {
      const Node& shortcut = nodes_[node->shortcut];
      node->output_tensor = shortcut.output_tensor;
      node->backward_tensor = shortcut.backward_tensor;
      node->output_gradient = shortcut.output_gradient;
    } else {
      node->output_tensor = {place(node->output), node->shape, type_};
      node->backward_tensor = {place(node->is_rebuilt ? node->rebuilt : node->output), node->shape, type_};
      node->output_gradient = {place(node->gradient), node->shape, type_};
    }
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    node.input_tensors.clear();
    node.backward_input_tensors.clear();
    node.input_gradients.clear();
    node.accumulate = std::make_unique<bool[]>(node.inputs.size());
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const int input = node.inputs[k];
      const bool image = input == network_input;
      node.input_tensors.push_back(image ? x_ : nodes_[input].output_tensor);
      node.backward_input_tensors.push_back(image ? x_ : nodes_[input].backward_tensor);
      node.input_gradients.push_back(image ? Tensor{nullptr, x_.shape, type_}
                                           : nodes_[input].output_gradient);
      // In the backward pass the last consumer is the first to write. A layer that reads another twice adds
      // the second time.
      const bool again =
          std::count(node.inputs.begin(), node.inputs.begin() + static_cast<long>(k), input) > 0;
      node.accumulate[k] = !image && (again || nodes_[input].consumers.back() != static_cast<int>(i));
    }
    if (node.head) node.output_tensor = node.input_tensors[0];
    if (node.shortcut >= 0) node.addend_tensor = nodes_[nodes_[node.shortcut].addend].output_tensor;
    layers_[i]->bind({weights + node.weights_offset, place(node.saved), step + node.workspace.offset, step,
                      place(node.rounded_gradient), node.workspace.bytes});
  }
}

}  // namespace brightnet
