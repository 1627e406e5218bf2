// Planning of a network: which outputs are recomputed for the backward pass instead of being kept, and during which
// calls each buffer of the arena is alive.
#include <algorithm>
#include <limits>
#include <variant>

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

/// The index of a new buffer, alive from `first` to `last`; −1 where it has no bytes.
int add_buffer(std::vector<Lifetime>& lives, size_t bytes, int first, int last) {
  if (bytes == 0) return -1;
  lives.push_back({bytes, first, last});
  return static_cast<int>(lives.size()) - 1;
}

}  // namespace

DType Network::stored_type(int layer) const {
  const bool quantized = layer == network_input ? image_is_quantized_ : nodes_[layer].quantized;
  return quantized ? DType::u8 : type_;
}

/// The quantization of a layer that convolves in 8 bits, or simulates that; none for others.
std::optional<QuantizedConvolution> Network::quantized_convolution(int layer) const {
  if (setup_.precision != Precision::int8 && !setup_.simulates_int8) return std::nullopt;
  const Quantization& quantization = setup_.model->quantization;
  const LayerQuantization& own = quantization[layer];
  if (own.weight_scales.empty()) return std::nullopt;
  const int input = nodes_[layer].inputs[0];
  QuantizedConvolution quantized{image_range, own.weight_scales, std::nullopt};
  if (input != network_input) {
    const auto& range = quantization[input].output;
    BRIGHTNET_CHECK(range, "an 8-bit convolution reads an output without a range");
    quantized.input = *range;
  }
  if (nodes_[layer].quantized) quantized.output = own.output;
  return quantized;
}

/// Requires that the layers which this one reads are made.
LayerSetup Network::layer_setup(int layer) const {
  const Node& node = nodes_[layer];
  LayerSetup setup{
      setup_.model->layers[layer], {}, *setup_.backend, *setup_.parameters, setup_.mode, type_, x_.shape};
  setup.statistics = setup_.statistics;
  for (const int input : node.inputs)
    setup.inputs.push_back(input == network_input ? x_.shape : nodes_[input].shape);
  const int first = node.inputs[0];
  if (first == network_input) setup.zero_inputs = x_.shape.c - setup_.model->channels;
  setup.zero_outputs = node.zero_outputs;
  setup.input_gradient = first != network_input && nodes_[first].needs_gradient;
  setup.adds_input_gradient =
      setup_.mode == Mode::train && setup.input_gradient && nodes_[first].consumers.back() != layer;
  setup.shares_output_gradient = node.concat >= 0 || node.shortcut >= 0;
  setup.loss_of_inference = setup_.loss_of_inference;
  if (setup_.observer)
    setup.before_activation = [this, layer](const Tensor& y) {
      setup_.observer->before_activation(layer, y);
    };
  setup.quantized = quantized_convolution(layer);
  setup.simulates_int8 = setup_.simulates_int8;
  setup.input_is_quantized = stored_type(first) == DType::u8;
  check_countable(setup);
  return setup;
}

// Only single convolutions do without weights for channels that are zero.
int Network::image_channels() const {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (!std::count(node.inputs.begin(), node.inputs.end(), network_input)) continue;
    const auto* conv = std::get_if<ConvAttributes>(&setup_.model->layers[i].attributes);
    if (!conv || conv->groups != 1 || conv->full_precision || node.first_twin >= 0 || node.second_twin >= 0)
      return setup_.model->channels;
  }
  return setup_.backend->padded_channels(setup_.model->channels, type_);
}

/// Predictions have Backend::padded_channels() in memory where they are a convolution's sums and bias, in one group and in
/// the network's type, and a head alone reads them. The bias ends in a gap of zeros (ParameterLayout).
int Network::zero_outputs(int layer) const {
  const Node& node = nodes_[layer];
  const auto& layers = setup_.model->layers;
  if (is_head(layers[layer]))
    return node.inputs[0] == network_input ? 0 : nodes_[node.inputs[0]].zero_outputs;
  if (node.consumers.size() != 1 || !is_head(layers[node.consumers[0]])) return 0;
  const auto* conv = std::get_if<ConvAttributes>(&layers[layer].attributes);
  if (!conv || conv->batch_norm || conv->activation != Activation::linear || conv->groups != 1 ||
      conv->full_precision)
    return 0;
  return setup_.backend->padded_channels(conv->filters, type_) - conv->filters;
}

void Network::make_layers() {
  x_ = {nullptr, {setup_.batch, setup_.height, setup_.width, image_channels()}, stored_type(network_input)};
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    Node& node = nodes_[i];
    node.zero_outputs = zero_outputs(i);
    if (node.second_twin >= 0) {
      TwinLayers twins = make_twin_layers(layer_setup(i), layer_setup(node.second_twin));
      layers_.push_back(std::move(twins.first));
      layers_.push_back(std::move(twins.second));
    } else if (node.first_twin < 0) {
      const LayerSetup setup = layer_setup(i);
      layers_.push_back(
          std::visit([&](const auto& kind) { return kind.make_layer(setup); }, setup.description.attributes));
    }
    node.shape = layers_[i]->output_shape();
    node.head = dynamic_cast<YoloLayer*>(layers_[i].get());
    node.convolution = dynamic_cast<ConvolutionLayer*>(layers_[i].get());
    MemoryList list;
    layers_[i]->memory(list);
    node.needs = list.needs();
  }
}

// A convolution's output is kept anyway, and the batch-norm and activation after it can be recomputed, as a
// separate tensor or as a slice of a concat. A concat that is recomputed copies its other parts again, so
// that these must still be alive.
void Network::choose_rebuilt() {
  for (int i = layer_count() - 1; i >= 0; --i) {
    Node& node = nodes_[i];
    if (!(node.normalizes && node.concat < 0) && node.first_part < 0) continue;
    // The loss reads predictions, which are kept for it, before other layers run backward.
    if (std::any_of(node.consumers.begin(), node.consumers.end(),
                    [&](int consumer) { return nodes_[consumer].head != nullptr; }))
      continue;
    for (const int consumer : node.consumers) {
      const Node& reader = nodes_[consumer];
      if (layers_[consumer]->backward_reads_inputs())
        node.rebuilt_before = std::max(node.rebuilt_before, consumer);
      if (reader.is_rebuilt && reader.first_part >= 0)
        node.rebuilt_before = std::max(node.rebuilt_before, reader.rebuilt_before);
    }
    node.is_rebuilt = node.rebuilt_before >= 0;
  }
}

// Gradients that are rounded are converted together, and keep their memory until then: for all of yolov4 at once that
// would be as much as its weights.
void Network::choose_conversions() {
  size_t waiting = 0;
  for (int i = layer_count() - 1; i >= 0; --i) {
    waiting += nodes_[i].needs.rounded_gradient;
    nodes_[i].converts = waiting >= most_rounded_gradients;
    if (nodes_[i].converts) waiting = 0;
  }
}

/// When the last of these consumers reads a tensor in the forward pass. The loss of a head comes after it.
int Network::last_forward_read(const std::vector<int>& consumers, int produced) const {
  int last = produced;
  for (const int consumer : consumers) last = std::max(last, nodes_[consumer].head ? end_time() : consumer);
  return last;
}

/// When the last of these consumers reads a tensor in the backward pass; −1: none of them does.
int Network::last_backward_read(const std::vector<int>& consumers) const {
  int last = -1;
  for (const int consumer : consumers) {
    const Node& reader = nodes_[consumer];
    if (setup_.mode == Mode::train && reader.needs_gradient && layers_[consumer]->backward_reads_inputs())
      last = std::max(last, backward_time(consumer));
    if (reader.is_rebuilt && reader.first_part >= 0)
      last = std::max(last, backward_time(reader.rebuilt_before));
  }
  return last;
}

/// Plans an output that has memory of its own, and its gradient.
void Network::plan_output(int layer, std::vector<Lifetime>& lives, LayerMemoryRow& row) {
  const bool training = setup_.mode == Mode::train;
  Node& node = nodes_[layer];
  const size_t channels = node.shape.c + node.zero_outputs;
  const size_t bytes = node.shape.pixels() * channels * size_of(stored_type(layer));
  const int first = node.summand >= 0 ? node.summand : node.first_part < 0 ? layer : node.first_part;
  const bool is_kept = std::count(setup_.kept.begin(), setup_.kept.end(), layer) > 0;
  const int forward = is_kept ? end_time() : last_forward_read(node.consumers, layer);
  // What no layer reads is read by the loss that it has, right before its backward call.
  const bool has_loss = training && node.needs_gradient && node.consumers.empty();
  const int backward = has_loss ? backward_time(layer) : last_backward_read(node.consumers);
  node.output = add_buffer(lives, bytes, first, node.is_rebuilt ? forward : std::max(forward, backward));
  if (node.is_rebuilt) node.rebuilt = add_buffer(lives, bytes, backward_time(node.rebuilt_before), backward);
  row.activation = bytes;
  if (!training || !node.needs_gradient) return;
  const int begin = backward_time(has_loss ? layer : node.consumers.back());
  if (node.gradient_input >= 0) {
    node.gradient = nodes_[node.gradient_input].gradient;
    lives[node.gradient].first = begin;
  } else {
    node.gradient = add_buffer(lives, bytes, begin, backward_time(first));
    row.gradient = bytes;
  }
}

void Network::plan_memory() {
  const bool training = setup_.mode == Mode::train;
  const int count = layer_count();
  std::vector<Lifetime> lives;
  size_t preparing = 0, workspace = 0;
  std::vector<int> image_consumers;
  for (int i = 0; i < count; ++i) {
    if (std::count(nodes_[i].inputs.begin(), nodes_[i].inputs.end(), network_input))
      image_consumers.push_back(i);
  }
  if (training) choose_conversions();
  x_buffer_ =
      add_buffer(lives, x_.bytes(), 0,
                 std::max(last_forward_read(image_consumers, 0), last_backward_read(image_consumers)));

  int converting = 0;  // the layer after which this one's gradient is converted
  for (int i = 0; i < count; ++i) {
    Node& node = nodes_[i];
    if (node.converts) converting = i;
    LayerMemoryRow row{setup_.model->layers[i].name, Model::kind(setup_.model->layers[i]), node.shape};
    for (const auto& entry : setup_.parameters->layout->entries()) {
      if (entry.layer == i) row.parameters += entry.count * sizeof(float);
    }
    if (!node.head && node.concat < 0 && node.shortcut < 0) plan_output(i, lives, row);
    node.saved =
        add_buffer(lives, node.needs.saved, i, training && node.needs_gradient ? backward_time(i) : i);
    if (node.needs_gradient)
      node.rounded_gradient =
          add_buffer(lives, node.needs.rounded_gradient, backward_time(i), backward_time(converting));
    node.weights_offset = memory_.working_weights;
    memory_.working_weights += aligned(node.needs.weights, device_alignment);
    workspace = std::max(workspace, node.needs.workspace);
    preparing = std::max(preparing, node.needs.preparing);
    row.saved = node.needs.saved + node.needs.rounded_gradient;
    row.working_weights = node.needs.weights;
    memory_.rows.push_back(std::move(row));
  }
  workspace_buffer_ = add_buffer(lives, workspace, 0, end_time());

  arena_plan_ = plan_arena(lives);
  plan_workspaces(lives, aligned(preparing, device_alignment));
  for (const Lifetime& life : lives) memory_.unshared += aligned(life.bytes, device_alignment);
  memory_.input = aligned(input_->bytes(), device_alignment);
}

/// The times at which the layer's workspace is in use: its calls, and when its output is recomputed; and those of its
/// second twin.
std::vector<int> Network::times_of_calls(int layer) const {
  const Node& node = nodes_[layer];
  std::vector<int> times{layer};
  if (setup_.mode == Mode::train) times.push_back(backward_time(layer));
  if (node.is_rebuilt) times.push_back(backward_time(node.rebuilt_before));
  if (node.concat >= 0 && nodes_[node.concat].is_rebuilt)
    times.push_back(backward_time(nodes_[node.concat].rebuilt_before));
  if (node.second_twin >= 0) {  // the second twin uses the same workspace
    for (const int time : times_of_calls(node.second_twin)) times.push_back(time);
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

/// Where a buffer of the step lies; nullptr for −1.
std::byte* Network::place(int buffer) const {
  return buffer < 0 ? nullptr : step_memory() + arena_plan_.offsets[buffer];
}

/// Sets the tensors of the layers' outputs and of their gradients.
void Network::place_outputs() {
  // From the last to the first: the tensors of concats and shortcuts are set before those of the layers that
  // write them.
  for (int i = layer_count() - 1; i >= 0; --i) {
    Node& node = nodes_[i];
    if (node.concat >= 0) {
      const Node& concat = nodes_[node.concat];
      node.output_tensor = slice_channels(concat.output_tensor, node.concat_channel, node.shape.c);
      node.backward_tensor = slice_channels(concat.backward_tensor, node.concat_channel, node.shape.c);
      node.output_gradient = slice_channels(concat.output_gradient, node.concat_channel, node.shape.c);
    } else if (node.shortcut >= 0) {
      const Node& shortcut = nodes_[node.shortcut];
      node.output_tensor = shortcut.output_tensor;
      node.backward_tensor = shortcut.backward_tensor;
      node.output_gradient = shortcut.output_gradient;
    } else {
      const auto tensor = [&](int buffer) -> Tensor {
        return {place(buffer), node.shape, stored_type(i),
                node.zero_outputs > 0 ? node.shape.c + node.zero_outputs : 0};
      };
      node.output_tensor = tensor(node.output);
      node.backward_tensor = tensor(node.is_rebuilt ? node.rebuilt : node.output);
      node.output_gradient = tensor(node.gradient);
    }
  }
}

void Network::bind(void* arena) {
  if (arena_ != arena) recordings_.clear();
  arena_ = static_cast<std::byte*>(arena);
  prepared_version_ = 0;
  input_->bind(arena_);
  std::byte* const weights = arena_ + memory_.input;
  x_.data = place(x_buffer_);
  place_outputs();
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
    MemoryList list({weights + node.weights_offset, place(node.saved), step_memory() + node.workspace.offset,
                     step_memory(), place(node.rounded_gradient), node.workspace.bytes});
    layers_[i]->memory(list);
    layers_[i]->bound();
  }
}

}  // namespace brightnet
