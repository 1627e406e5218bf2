// Layer: one operation of a network, made for one input shape. It owns no memory: it lists what it needs, and the network
// passes activations and gradients to each call.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "layers/layer_memory.h"
#include "layers/model/model.h"
#include "layers/parameters.h"

namespace brightnet {

enum class Mode : uint8_t { train, infer };

constexpr float batch_norm_epsilon = 1e-5f;
/// Weight of a batch's statistics in the running average. PyTorch's default is 0.1; 0.03 averages over the
/// small batches that detectors are trained with.
constexpr float batch_norm_momentum = 0.03f;

/// The arguments of a layer's constructor. Everything it refers to must outlive the layer.
struct LayerSetup {
  const LayerDescription& description;
  std::vector<Shape> inputs;
  Backend& backend;
  const Parameters& parameters;
  Mode mode = Mode::train;
  DType type = DType::f32;
  Shape network_input;
  /// Sums batch statistics over the images of all ranks; nullptr: over this rank's only.
  StatisticsExchange* statistics = nullptr;
  /// Channels of the image that are zero, where the first input is an image: Backend::padded_channels() counts them.
  int zero_inputs = 0;
  /// Channels of predictions that are zero likewise, for a head and for the convolution that computes them.
  /// They are beyond the output's shape.
  int zero_outputs = 0;
  /// False when no layer before this one has parameters.
  bool input_gradient = true;
  /// True when another consumer of the first input writes that input's gradient before this layer does.
  bool adds_input_gradient = false;
  /// The output's gradient must not be overwritten: it is a slice of the gradient of the concat that reads the output, or
  /// that of the shortcut whose sum the output is (LayerCall::addend), and so also of the shortcut's other input.
  bool shares_output_gradient = false;
  /// A head of an inference network also computes the loss of its predictions.
  bool loss_of_inference = false;
  /// The quantization of a convolution in an 8-bit network or, where `simulates_int8` (as in NetworkSetup),
  /// in one that rounds as an 8-bit network does. `input_is_quantized`: the convolution's input is in 8 bits
  /// already.
  std::optional<QuantizedConvolution> quantized = {};
  bool simulates_int8 = false;
  bool input_is_quantized = false;
  /// Called with the tensor that a convolution's activation is applied to, which it may change. If set, the
  /// activation is a pass of its own.
  std::function<void(const Tensor&)> before_activation = {};
};

/// The tensors of one call. Gradients are null where none is needed; a shortcut's gradient may alias the
/// gradient of one of its inputs.
struct LayerCall {
  std::span<const Tensor> inputs{};
  Tensor output{};
  Tensor addend{};  ///< a shortcut's other input, which is added to the output; null: nothing is added
  std::span<const Tensor> input_gradients{};
  std::span<const bool> accumulate{};  ///< for each input: whether to add to the gradient that is there
  Tensor output_gradient{};            ///< the layer may overwrite it: it is not read afterwards
};

class Layer {
 public:
  /// Throws InputError when the inputs do not fit the layer.
  explicit Layer(const LayerSetup& setup)
      : setup_(setup), output_shape_(brightnet::output_shape(setup.description, setup.inputs)) {}
  virtual ~Layer() = default;

  const Shape& output_shape() const { return output_shape_; }
  /// Lists the memory that the layer needs: when the network is planned, and each time that it is bound to
  /// memory.
  virtual void memory(MemoryList&) {}
  /// Called once the memory that the layer listed is placed.
  virtual void bound() {}
  /// True when backward() reads the layer's inputs, which must then be kept.
  virtual bool backward_reads_inputs() const { return false; }

  /// Updates the working copies of the parameters; called after every change of their values, between steps.
  virtual void prepare() {}
  /// Computes the output. In training batch-norm uses the batch's statistics, in inference the running ones.
  virtual void forward(const LayerCall& call) = 0;
  /// Writes the input gradients and writes the parameters' gradients, or adds to them in later micro-batches
  /// of one optimizer step.
  virtual void backward(const LayerCall& call, bool accumulate_parameters) = 0;

 protected:
  const LayerSetup& setup() const { return setup_; }
  Backend& backend() const { return setup_.backend; }
  /// The parameter "layer.what", or nullptr.
  const ParameterEntry* parameter(const std::string& what) const {
    return setup_.parameters.layout->find(setup_.description.name + '.' + what);
  }
  float* value(const ParameterEntry* entry) const { return setup_.parameters.values + entry->offset; }
  float* gradient(const ParameterEntry* entry) const { return setup_.parameters.gradients + entry->offset; }

 private:
  LayerSetup setup_;
  Shape output_shape_;
};

}  // namespace brightnet
