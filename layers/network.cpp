#include "layers/network.h"

#include <algorithm>
#include <chrono>

#include "layers/network_input.h"
#include "layers/yolo.h"

namespace brightnet {
namespace {

/// Like the arena's plan.
size_t aligned(size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

/// A layer's place in the graph. Buffers are indices into the arena plan; −1: none.
struct Network::Node {
  std::vector<int> inputs;
  std::vector<int> consumers;
  Shape shape;
  bool needs_gradient = false;  ///< of its output
  bool is_head = false;
  int output = -1, gradient = -1, saved = -1;
  int concat = -1;  ///< the concat that its output is a slice of
  int concat_channel = 0;
  int first_part = -1;  ///< of a concat: the earliest layer whose output is a slice of this one's
  size_t weights_offset = 0;
  MemoryNeeds needs;

  // When its output is made a second time for the backward pass instead of being kept.
  bool is_rebuilt = false;
  int rebuilt_before = -1;  ///< the layer whose backward call is the first to read it, in that order
  int rebuilt = -1;

  // The tensors of its calls, fixed once the arena is bound. What the backward pass reads may be another
  // copy.
  std::vector<Tensor> input_tensors, backward_input_tensors, input_gradients;
  std::unique_ptr<bool[]> accumulate;
  Tensor output_tensor, backward_tensor, output_gradient;
};

Network::Network(const NetworkSetup& setup)
    : setup_(setup),
      type_(compute_type(setup.precision)),
      input_(std::make_unique<NetworkInput>(
          *setup.backend, Shape{setup.batch, setup.height, setup.width, setup.model->channels},
          setup.mode == Mode::train)) {
  const int stride = setup.model->stride;
  if (setup.height % stride != 0 || setup.width % stride != 0 || setup.height < stride ||
      setup.width < stride) {
    throw InputError("an input of " + std::to_string(setup.width) + "x" + std::to_string(setup.height) +
                         " pixels does not fit the model '" + setup.model->name + "'",
                     "", "Its sides must be multiples of " + std::to_string(stride) + '.');
  }
  BRIGHTNET_CHECK(setup.batch > 0, "a network needs a batch");
  connect();
  if (setup.mode == Mode::train) place_in_concats();
  make_layers();
  if (setup.mode == Mode::train && setup.recompute) choose_rebuilt();
  plan_memory();
}

Network::~Network() = default;

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

// In training, batch-norm can write its output straight to where a concat wants it, and read its gradient
// there: the copies of YOLO's many concats disappear. It takes an output that nobody needs dense: only the
// concat, and splits before it, may read it. The concat is the last of them, so that on the way back its
// gradient is there first and the splits add to it.
void Network::place_in_concats() {
  const auto& layers = setup_.model->layers;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!std::holds_alternative<ConcatAttributes>(layers[i].attributes)) continue;
    int channel = 0;
    for (const int input : nodes_[i].inputs) {
      const int first_channel = channel;
      channel += input == network_input ? setup_.model->channels : layers[input].channels;
      if (input == network_input) continue;
      const auto* conv = std::get_if<ConvAttributes>(&layers[input].attributes);
      const auto& consumers = nodes_[input].consumers;
      const bool widened = conv && conv->full_precision && type_ != DType::f32;
      const bool placeable = conv && conv->batch_norm && layers[input].rate > 0 && !widened &&
                             consumers.back() == static_cast<int>(i) &&
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

void Network::make_layers() {
  const Model& model = *setup_.model;
  const bool training = setup_.mode == Mode::train;
  const Shape image{setup_.batch, setup_.height, setup_.width, model.channels};
  x_ = {nullptr, image, type_};
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    const LayerDescription& description = model.layers[i];
    node.is_head = std::holds_alternative<YoloAttributes>(description.attributes);
    node.needs_gradient =
        std::holds_alternative<ConvAttributes>(description.attributes) && description.rate > 0;
    LayerSetup setup{description, {}, *setup_.backend, *setup_.parameters, setup_.mode, type_, image};
    setup.statistics = setup_.statistics;
    for (const int input : node.inputs) {
      setup.inputs.push_back(input == network_input ? image : nodes_[input].shape);
      node.needs_gradient = node.needs_gradient || (input != network_input && nodes_[input].needs_gradient);
    }
    const int first = node.inputs[0];
    setup.input_gradient = first != network_input && nodes_[first].needs_gradient;
    setup.adds_input_gradient =
        training && setup.input_gradient && nodes_[first].consumers.back() != static_cast<int>(i);
    setup.output_in_concat = node.concat >= 0;
    layers_.push_back(make_layer(setup));
    node.shape = layers_.back()->output_shape();
  }
}

// What batch-norm and activation made of a convolution's output, which is kept anyway, can be made of it
// again: alone, or as the parts of a concat. A rebuilt concat copies its other parts again, and needs them
// then.
void Network::choose_rebuilt() {
  for (int i = layer_count() - 1; i >= 0; --i) {
    Node& node = nodes_[i];
    const auto* conv = std::get_if<ConvAttributes>(&setup_.model->layers[i].attributes);
    const bool normalizes =
        conv && conv->batch_norm && !conv->full_precision && setup_.model->layers[i].rate > 0;
    if (!(normalizes && node.concat < 0) && node.first_part < 0) continue;
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

// A sum hands its gradient on as it is. One of its inputs can have it where it lies: one whose gradient
// begins with it.
int Network::heir_of_gradient(int layer) const {
  const Node& node = nodes_[layer];
  if (!std::holds_alternative<ShortcutAttributes>(setup_.model->layers[layer].attributes)) return -1;
  for (const int input : node.inputs) {
    if (input == network_input || std::count(node.inputs.begin(), node.inputs.end(), input) > 1) continue;
    const Node& source = nodes_[input];
    if (source.gradient >= 0 && source.shape == node.shape && source.consumers.back() == layer) return input;
  }
  return -1;
}

// The time line: layer i runs forward at time i and backward at time 2·layers − 1 − i.
void Network::plan_memory() {
  const bool training = setup_.mode == Mode::train;
  const int count = layer_count();
  const int end = training ? 2 * count - 1 : count - 1;
  const auto backward_time = [&](int layer) { return 2 * count - 1 - layer; };
  std::vector<Lifetime> lives;
  size_t preparing = 0;
  const auto add = [&](size_t bytes, int first, int last) {
    if (bytes == 0) return -1;
    lives.push_back({bytes, first, last});
    return static_cast<int>(lives.size()) - 1;
  };
  // Until when a tensor is read that these layers consume: on the way there, and on the way back.
  const auto last_forward = [&](const std::vector<int>& consumers, int produced) {
    int last = produced;
    for (const int consumer : consumers) last = std::max(last, nodes_[consumer].is_head ? end : consumer);
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
  x_buffer_ = add(x_.bytes(), 0, std::max(last_forward(image_consumers, 0), last_backward(image_consumers)));

  for (int i = 0; i < count; ++i) {
    Node& node = nodes_[i];
    const size_t bytes = node.shape.count() * size_of(type_);
    node.needs = layers_[i]->memory_needs();
    LayerMemoryRow row{setup_.model->layers[i].name, Model::kind(setup_.model->layers[i]), node.shape};
    for (const auto& entry : setup_.parameters->layout->entries()) {
      if (entry.layer == i) row.parameters += entry.count * sizeof(float);
    }
    if (!node.is_head && node.concat < 0) {
      const int first = node.first_part < 0 ? i : node.first_part;
      const int there = last_forward(node.consumers, i), back = last_backward(node.consumers);
      node.output = add(bytes, first, node.is_rebuilt ? there : std::max(there, back));
      if (node.is_rebuilt) node.rebuilt = add(bytes, backward_time(node.rebuilt_before), back);
      row.activation = bytes;
      if (training && node.needs_gradient) {
        const int begin = backward_time(node.consumers.back());
        if (const int input = heir_of_gradient(i); input >= 0) {
          node.gradient = nodes_[input].gradient;
          lives[static_cast<size_t>(node.gradient)].first = begin;
        } else {
          node.gradient = add(bytes, begin, backward_time(first));
          row.gradient = bytes;
        }
      }
    }
    node.saved = add(node.needs.saved, i, training && node.needs_gradient ? backward_time(i) : i);
    node.weights_offset = memory_.working_weights;
    memory_.working_weights += aligned(node.needs.weights);
    workspace_bytes_ = std::max(workspace_bytes_, node.needs.workspace);
    preparing = std::max(preparing, node.needs.preparing);
    row.saved = node.needs.saved;
    row.working_weights = node.needs.weights;
    row.workspace = node.needs.workspace;
    memory_.rows.push_back(std::move(row));
  }
  workspace_buffer_ = add(workspace_bytes_, 0, end);

  arena_plan_ = plan_arena(lives);
  memory_.step = std::max(arena_plan_.total, aligned(preparing));
  for (const Lifetime& life : lives) memory_.unshared += aligned(life.bytes);
  memory_.input = aligned(input_->bytes());
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

  // From the last to the first: a concat is known before the layers that lie in it.
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (node->concat >= 0) {
      const Node& concat = nodes_[node->concat];
      node->output_tensor = slice_channels(concat.output_tensor, node->concat_channel, node->shape.c);
      node->backward_tensor = slice_channels(concat.backward_tensor, node->concat_channel, node->shape.c);
      node->output_gradient = slice_channels(concat.output_gradient, node->concat_channel, node->shape.c);
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
      // The last consumer is the first to write on the way back. One that reads a layer twice adds the second
      // time.
      const bool again =
          std::count(node.inputs.begin(), node.inputs.begin() + static_cast<long>(k), input) > 0;
      node.accumulate[k] = !image && (again || nodes_[input].consumers.back() != static_cast<int>(i));
    }
    if (node.is_head) node.output_tensor = node.input_tensors[0];
    layers_[i]->bind({weights + node.weights_offset, place(node.saved), place(workspace_buffer_), step});
  }
}

Shape Network::output_shape(int layer) const {
  return nodes_[layer].shape;
}

double Network::flops() const {
  double sum = 0;
  for (const auto& layer : layers_) sum += layer->flops();
  return sum;
}

void Network::set_pixels(const uint8_t* pixels) {
  input_->set_pixels(pixels);
}

void Network::set_values(const float* values) {
  BRIGHTNET_CHECK(setup_.mode == Mode::infer, "training takes pixels");
  prepare_if_changed();  // may use memory that is x's from now on
  input_->set_values(values, x_);
}

void Network::set_pixels_ahead(const uint8_t* pixels) {
  input_->set_pixels_ahead(pixels);
}

void Network::set_truths(std::span<const std::vector<Truth>> truths) {
  input_->set_truths(truths);
}

size_t Network::max_truths(int batch) {
  return NetworkInput::max_truths(batch);
}

bool Network::is_prepare_due() const {
  BRIGHTNET_CHECK(arena_, "the network has no memory yet");
  return prepared_version_ != setup_.parameters->version;
}

// Folding a frozen batch-norm takes memory where the step's tensors lie, the input's among them. It is done
// once, before the first of them is written.
void Network::prepare_frozen() {
  if (prepared_version_ == 0) prepare_if_changed();
}

void Network::prepare_if_changed() {
  if (!is_prepare_due()) return;
  for (int i = 0; i < layer_count(); ++i) {
    // A step does not change what is frozen.
    const bool frozen = setup_.mode == Mode::train && setup_.model->layers[i].rate == 0;
    if (!frozen || prepared_version_ == 0) layers_[i]->prepare();
  }
  prepared_version_ = setup_.parameters->version;
}

LayerCall Network::call_of(Node& node, bool backward) const {
  return {backward ? node.backward_input_tensors : node.input_tensors,
          backward ? node.backward_tensor : node.output_tensor, node.input_gradients,
          std::span<const bool>(node.accumulate.get(), node.inputs.size()), node.output_gradient};
}

template <typename Call>
void Network::timed(int layer, double LayerTime::*part, Call&& call) {
  if (!times_) return call();
  times_->resize(layers_.size());
  setup_.backend->synchronize();
  const double begin = seconds_now();
  call();
  setup_.backend->synchronize();
  (*times_)[layer].*part += seconds_now() - begin;
}

void Network::forward() {
  BRIGHTNET_CHECK(setup_.mode == Mode::train, "this network was planned for inference");
  prepare_frozen();
  input_->fill(x_);
  run_forward();
}

void Network::run_forward() {
  prepare_if_changed();
  for (int i = 0; i < layer_count(); ++i) {
    timed(i, &LayerTime::forward, [&] { layers_[i]->forward(call_of(nodes_[i], false)); });
  }
}

void Network::infer() {
  BRIGHTNET_CHECK(setup_.mode == Mode::infer, "this network was planned for training");
  prepare_if_changed();
  input_->fill(x_);
  recorded({}, [&] {
    for (int i = 0; i < layer_count(); ++i) {
      timed(i, &LayerTime::forward, [&] { layers_[i]->infer(call_of(nodes_[i], false)); });
    }
  });
}

void Network::backward(const GradientScale& scale, bool accumulate, LossTotals* totals,
                       const LayerPassed& passed) {
  for (int i = layer_count() - 1; i >= 0; --i) {
    Node& node = nodes_[i];
    if (!node.needs_gradient) continue;
    timed(i, &LayerTime::backward, [&] {
      for (int k = 0; k < i; ++k) {
        if (nodes_[k].rebuilt_before == i) rebuild(k);
      }
      if (node.is_head) static_cast<YoloLayer&>(*layers_[i]).set_loss(input_->truths(), scale, totals);
      layers_[i]->backward(call_of(node, true), accumulate);
    });
    if (passed) passed(i);
  }
}

void Network::forward_backward(const GradientScale& scale, bool accumulate, LossTotals* totals) {
  BRIGHTNET_CHECK(setup_.mode == Mode::train, "this network was planned for inference");
  prepare_frozen();
  input_->fill(x_);
  const RecordingKey key{is_prepare_due(), accumulate, scale.constant, scale.dynamic, totals};
  recorded(key, [&] {
    run_forward();
    backward(scale, accumulate, totals);
  });
}

/// Makes a layer's output again, for the backward pass.
void Network::rebuild(int layer) {
  Node& node = nodes_[layer];
  for (const int input : node.inputs) {
    if (input != network_input && nodes_[input].concat == layer)
      layers_[input]->rebuild(nodes_[input].backward_tensor);
  }
  if (node.first_part < 0) {
    layers_[layer]->rebuild(node.backward_tensor);
  } else {
    layers_[layer]->forward(call_of(node, true));
  }
}

// The first time of each kind is done as it comes: convolutions choose their engines then, and what is loaded
// late is loaded. The second is recorded.
template <typename Work>
void Network::recorded(const RecordingKey& key, Work&& work) {
  if (!recording_ || times_) return work();
  const auto found =
      std::find_if(recordings_.begin(), recordings_.end(), [&](const auto& r) { return r.key == key; });
  if (found == recordings_.end()) {
    recordings_.push_back({key, nullptr});
    return work();
  }
  if (!found->recording) found->recording = setup_.backend->record(work);
  if (!found->recording) return work();
  found->recording->replay();
  prepared_version_ = setup_.parameters->version;
}

std::vector<YoloLoss> Network::losses() const {
  std::vector<YoloLoss> losses;
  for (int i = 0; i < layer_count(); ++i) {
    if (!nodes_[i].is_head || !nodes_[i].needs_gradient) continue;
    YoloLoss loss;
    setup_.backend->download(&loss, static_cast<const YoloLayer&>(*layers_[i]).loss(), sizeof loss);
    losses.push_back(loss);
  }
  return losses;
}

std::vector<std::vector<Detection>> Network::detections(float threshold) {
  std::vector<std::vector<Detection>> found(setup_.batch);
  for (int i = 0; i < layer_count(); ++i) {
    if (!nodes_[i].is_head) continue;
    const auto& layer = static_cast<const YoloLayer&>(*layers_[i]);
    setup_.backend->yolo_detect(layer.head(), nodes_[i].output_tensor, threshold, found, layer.workspace());
  }
  return found;
}

Tensor Network::output(int layer) const {
  return nodes_[layer].output_tensor;
}

}  // namespace brightnet
