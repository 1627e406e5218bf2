#include "layers/network.h"

#include <algorithm>
#include <utility>

#include "core/clock.h"
#include "kernels/traffic.h"
#include "layers/network_input.h"
#include "layers/network_node.h"

namespace brightnet {

namespace {

void require_quantization(const NetworkSetup& setup) {
  if (setup.mode == Mode::train) {
    throw InputError("int8 is a precision of inference, and this would train or plan to train", "--precision",
                     "Train in fp32, bf16 or fp16; `brightnet export --int8` quantises the result.");
  }
  if (setup.model->quantization.empty()) {
    throw InputError("the weights of '" + setup.model->name + "' are not quantised: int8 needs their scales",
                     "--precision",
                     "Make a file that has them: brightnet export --int8 --format safetensors --weights FILE "
                     "--data DATA.");
  }
  BRIGHTNET_CHECK(!setup.observer, "the values of an 8-bit network are not observed");
}

}  // namespace

void require_input_size(const Model& model, const InputSize& size) {
  if (size.multiple_of(model.stride) && size.height >= model.stride && size.width >= model.stride) return;
  throw InputError("an input of " + size.described() + " pixels does not fit the model '" + model.name + "'",
                   "",
                   "Its sides must be multiples of " + std::to_string(model.stride) + ", such as " +
                       nearest_input_sizes(size, model.stride) + '.');
}

Network::Network(const NetworkSetup& setup)
    : setup_(setup),
      type_(compute_type(setup.precision)),
      input_(std::make_unique<NetworkInput>(
          *setup.backend, Shape{setup.batch, setup.height, setup.width, setup.model->channels},
          setup.mode == Mode::train, setup.strokes)) {
  require_input_size(*setup.model, setup.size());
  BRIGHTNET_CHECK(setup.batch > 0, "a network needs a batch");
  if (setup.precision == Precision::int8) require_quantization(setup);
  BRIGHTNET_CHECK(!setup.simulates_int8 || (type_ == DType::f32 && !setup.model->quantization.empty()),
                  "8 bits are simulated in fp32, by the model's quantization");
  Graph graph = make_graph(*setup.model, *setup.parameters->layout, type_);
  if (setup.precision == Precision::int8) image_is_quantized_ = quantize(graph, *setup.model);
  if (setup.mode == Mode::train) fuse(graph, *setup.model, setup.backend->joins_convolutions());
  for (GraphNode& node : graph) nodes_.emplace_back(std::move(node));
  make_layers();
  if (setup.mode == Mode::train && setup.recompute) choose_rebuilt();
  plan_memory();
}

Network::~Network() = default;

Shape Network::output_shape(int layer) const {
  return nodes_[layer].shape;
}

const MemoryNeeds& Network::memory_needs(int layer) const {
  return nodes_[layer].needs;
}

const ConvolutionSpec* Network::convolution(int layer) const {
  const ConvolutionLayer* convolution = nodes_[layer].convolution;
  return convolution ? convolution->spec() : nullptr;
}

std::string Network::implementation(int layer) const {
  const ConvolutionLayer* convolution = nodes_[layer].convolution;
  return convolution ? convolution->implementation() : "";
}

size_t Network::convolution_workspace(int layer) const {
  return memory_.rows[layer].workspace - nodes_[layer].needs.tensors;
}

double Network::flops() const {
  double sum = 0;
  for (int i = 0; i < layer_count(); ++i) {
    if (const ConvolutionSpec* spec = convolution(i)) sum += spec->flops();
  }
  return sum;
}

void Network::set_batch(const uint8_t* pixels, std::span<const std::vector<Truth>> truths) {
  check_batch(truths);
  input_->set_pixels_ahead(pixels);
  input_->set_truths(truths);
}

void Network::set_batch(const Pictures& pictures, std::span<const std::vector<Truth>> truths) {
  check_batch(truths);
  input_->set_pictures_ahead(pictures);
  input_->set_truths(truths);
}

void Network::check_batch(std::span<const std::vector<Truth>> truths) const {
  BRIGHTNET_CHECK(setup_.mode == Mode::train, "only training has ground truth");
  BRIGHTNET_CHECK(static_cast<int>(truths.size()) == setup_.batch,
                  "one list of ground-truth boxes per image");
}

void Network::set_pixels(const uint8_t* pixels) {
  BRIGHTNET_CHECK(setup_.mode == Mode::infer, "training takes whole batches");
  input_->set_pixels(pixels);
}

void Network::set_pixels(const Network& other) {
  BRIGHTNET_CHECK(setup_.mode == Mode::infer && setup_.batch == other.setup_.batch &&
                      setup_.size() == other.setup_.size() &&
                      setup_.model->channels == other.setup_.model->channels,
                  "pixels of other images");
  input_->set_pixels(*other.input_);
}

void Network::set_values(const float* values) {
  BRIGHTNET_CHECK(setup_.mode == Mode::infer, "training takes whole batches");
  prepare();  // may use the memory of x, so it comes first
  input_->set_values(values, x_);
}

size_t Network::max_truths(int batch) {
  return NetworkInput::max_truths(batch);
}

bool Network::is_prepare_due() const {
  BRIGHTNET_CHECK(arena_, "the network is not bound to memory yet");
  return prepared_version_ != setup_.parameters->version;
}

// Folding a frozen batch-norm uses the memory of the step's tensors, including the input, so it is done once
// before any of them is written.
void Network::prepare_frozen() {
  if (prepared_version_ == 0) prepare();
}

void Network::prepare() {
  if (!is_prepare_due()) return;
  std::vector<CastPair> casts;
  for (int i = 0; i < layer_count(); ++i) {
    if (LaunchList* list = LaunchList::current()) list->set_layer(i);
    // Steps do not change frozen layers.
    const bool frozen = setup_.mode == Mode::train && setup_.model->layers[i].rate == 0;
    if (frozen && prepared_version_ != 0) continue;
    const ConvolutionLayer* convolution = nodes_[i].convolution;
    if (const CastPair cast = convolution ? convolution->weight_cast() : CastPair{}; cast.to) {
      casts.push_back(cast);
    } else {
      layers_[i]->prepare();
    }
  }
  if (LaunchList* list = LaunchList::current()) list->set_layer(-1);
  setup_.backend->cast_all(casts);
  prepared_version_ = setup_.parameters->version;
  choose_convolutions();
}

// Before the first call, when nothing of a step is in the arena yet and nothing of it is exchanged with other ranks: what
// they wait for would run beside the implementations that are timed.
void Network::choose_convolutions() {
  if (std::exchange(chose_convolutions_, true)) return;
  for (const auto stage : {&ConvolutionLayer::expect, &ConvolutionLayer::choose}) {
    for (Node& node : nodes_) {
      if (node.convolution) (node.convolution->*stage)(call_of(node, false), call_of(node, true));
    }
  }
}

LayerCall Network::call_of(Node& node, bool backward) const {
  return {backward ? node.backward_input_tensors : node.input_tensors,
          backward ? node.backward_tensor : node.output_tensor,
          node.addend_tensor,
          node.input_gradients,
          std::span<const bool>(node.accumulate.get(), node.inputs.size()),
          node.output_gradient};
}

template <typename Call>
void Network::timed(int layer, double LayerTime::*part, Call&& call) {
  if (LaunchList* list = LaunchList::current()) list->set_layer(layer);
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
  prepare();
  for (int i = 0; i < layer_count(); ++i) {
    timed(i, &LayerTime::forward, [&] { layers_[i]->forward(call_of(nodes_[i], false)); });
  }
}

void Network::infer() {
  BRIGHTNET_CHECK(setup_.mode == Mode::infer, "this network was planned for training");
  prepare();
  input_->fill(x_);
  recorded({}, [&] {
    for (int i = 0; i < layer_count(); ++i) {
      timed(i, &LayerTime::forward, [&] { layers_[i]->forward(call_of(nodes_[i], false)); });
      if (setup_.observer) setup_.observer->output(i, nodes_[i].output_tensor);
    }
  });
}

void Network::backward(const GradientScale& scale, bool accumulate, LossTotals* totals) {
  run_backward(layer_count() - 1, 0, scale, accumulate, totals);
}

/// The backward pass of layers `from` down to `to`.
void Network::run_backward(int from, int to, const GradientScale& scale, bool accumulate,
                           LossTotals* totals) {
  std::vector<CastPair> rounded;
  const auto convert = [&] {
    if (LaunchList* list = LaunchList::current()) list->set_layer(-1);
    if (!rounded.empty()) setup_.backend->add_rounded(rounded, accumulate);
    rounded.clear();
  };
  for (int i = from; i >= to; --i) {
    Node& node = nodes_[i];
    if (!node.needs_gradient) continue;
    timed(i, &LayerTime::backward, [&] {
      for (int k = 0; k < i; ++k) {
        if (nodes_[k].rebuilt_before == i) rebuild(k);
      }
      if (node.head) {
        const LayerCall call = call_of(node, true);
        node.head->loss(call, input_->truths(), scale, totals, static_assignment_);
        if (setup_.output_loss)
          setup_.output_loss->loss(i, call.inputs[0], call.input_gradients[0], scale, totals);
      } else {
        if (node.consumers.empty() && setup_.output_loss)
          setup_.output_loss->loss(i, node.output_tensor, node.output_gradient, scale, totals);
        layers_[i]->backward(call_of(node, true), accumulate);
        if (node.convolution) node.convolution->append_rounded_gradients(rounded);
      }
      if (node.converts) convert();
    });
  }
  convert();
}

void Network::forward_backward(const GradientScale& scale, bool accumulate, LossTotals* totals) {
  BRIGHTNET_CHECK(setup_.mode == Mode::train, "this network was planned for inference");
  prepare_frozen();
  input_->fill(x_);
  const RecordingKey key{is_prepare_due(), accumulate,    static_assignment_,
                         scale.constant,   scale.dynamic, totals};
  recorded(key, [&] {
    run_forward();
    backward(scale, accumulate, totals);
  });
}

void Network::forward_backward(const GradientScale& scale, bool accumulate, LossTotals* totals,
                               const StepStops& stops) {
  BRIGHTNET_CHECK(setup_.mode == Mode::train, "this network was planned for inference");
  prepare_frozen();
  input_->fill(x_);
  RecordingKey key{is_prepare_due(), accumulate, static_assignment_, scale.constant, scale.dynamic,
                   totals,           0};
  recorded(key, [&] { run_forward(); });
  stops.forward_done();
  key.prepares = false;  // the forward pass did
  int from = layer_count() - 1;
  const auto run_to = [&](int to) {
    ++key.part;
    if (to <= from) recorded(key, [&] { run_backward(from, to, scale, accumulate, totals); });
    from = std::min(from, to - 1);
  };
  for (const int layer : stops.layers) {
    // The first twin's call computes the gradient of both twins' weights.
    run_to(nodes_[layer].first_twin >= 0 ? nodes_[layer].first_twin : layer);
    stops.passed(layer);
  }
  run_to(0);
}

/// Recomputes a layer's output for the backward pass.
void Network::rebuild(int layer) {
  Node& node = nodes_[layer];
  for (const int input : node.inputs) {
    if (input != network_input && nodes_[input].concat == layer)
      nodes_[input].convolution->rebuild(nodes_[input].backward_tensor);
  }
  if (node.convolution) {
    node.convolution->rebuild(node.backward_tensor);
  } else {
    layers_[layer]->forward(call_of(node, true));
  }
}

// The first call with each key runs uncaptured: libraries initialise lazily. The second is captured.
template <typename Work>
void Network::recorded(const RecordingKey& key, Work&& work) {
  if (!recording_ || times_) return work();
  const auto found =
      std::find_if(recordings_.begin(), recordings_.end(), [&](const auto& r) { return r.key == key; });
  if (found == recordings_.end()) {
    recordings_.push_back({key, nullptr});
    return work();
  }
  const auto prepared = prepared_version_;
  if (!found->recording) found->recording = setup_.backend->record(work);
  if (!found->recording) {
    prepared_version_ = prepared;  // the attempt to capture prepared nothing
    return work();
  }
  found->recording->replay();
  prepared_version_ = setup_.parameters->version;
}

std::vector<YoloLoss> Network::losses() const {
  std::vector<YoloLoss> losses;
  for (const Node& node : nodes_) {
    if (node.head && node.needs_gradient) losses.push_back(node.head->last_loss());
  }
  return losses;
}

std::vector<std::vector<Detection>> Network::detections(float threshold) {
  std::vector<std::vector<Detection>> found(setup_.batch);
  for (const Node& node : nodes_) {
    if (node.head) node.head->detect(node.output_tensor, threshold, found);
  }
  return found;
}

std::vector<YoloLoss> Network::loss(std::span<const std::vector<Truth>> truths) {
  BRIGHTNET_CHECK(setup_.mode == Mode::infer && setup_.loss_of_inference,
                  "this network was not planned for the loss of its predictions");
  input_->set_truths(truths);
  std::vector<YoloLoss> sums(truths.size());
  for (const Node& node : nodes_) {
    if (!node.head || !node.needs_gradient) continue;
    const auto of_head = node.head->loss_of_inference(node.output_tensor, static_cast<int>(truths.size()),
                                                      input_->truths(), static_assignment_);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += of_head[i];
  }
  return sums;
}

Tensor Network::output(int layer) const {
  return nodes_[layer].output_tensor;
}

}  // namespace brightnet
