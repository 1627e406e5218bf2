// A model as its YAML describes it: a list of named layers, each reading earlier ones. No memory yet, and no
// sizes but the input's default. layers/model/reader.h has the YAML.
#pragma once

#include <string>
#include <vector>

#include "core/input_size.h"
#include "core/tensor.h"
#include "layers/model/layer_kinds.h"
#include "layers/model/quantization.h"

namespace brightnet {

/// Largest side of a network's input, in pixels.
constexpr int largest_input_side = 8192;

/// Index of the network's input where a layer's inputs are listed.
constexpr int network_input = -1;

struct LayerDescription {
  std::string name;         ///< unique, e.g. "stage1.in"
  std::vector<int> inputs;  ///< indices of earlier layers, or network_input
  LayerAttributes attributes;
  std::string where;  ///< "file:line"
  int channels = 0;   ///< channels of the output
  /// Factor on the learning rate of its parameters. 0: frozen, and batch-norm uses its running statistics.
  float rate = 1;
  bool pretrained = false;  ///< whether a run that has pretrained weights takes its parameters from them
};

struct Model {
  std::string name;
  InputSize size = 416;  ///< size of the input, by default
  int channels = 3;      ///< channels of the input: 3 is RGB, 1 is grey
  int classes = 0;
  int stride = 32;  ///< the input's sides must be multiples of this
  std::vector<LayerDescription> layers;
  Quantization quantization = {};  ///< ranges and scales of a model that can be computed in 8 bits too
  /// The document that it was read from, with `classes` and the run's keys of `head:` in it; null for a model that no
  /// YAML described. Copies share the node: it is replaced, not changed.
  YAML::Node description;

  /// The whole description as YAML: as it was written, or a line a layer (layers/model/writer.h).
  std::string yaml() const;

  /// "conv", "max_pool", … as the YAML calls it.
  static std::string kind(const LayerDescription& layer);
  /// Channels of an entry of a layer's inputs.
  int channels_of(int input) const;
};

bool is_head(const LayerDescription& layer);

/// Whether each layer predicts for a head: the filters of such a layer follow from the classes.
std::vector<bool> predicting_layers(const Model& model);

/// Whether an input of a layer, counted from 0, is one pixel for the whole image. All others have the same sides.
bool reads_one_pixel(const LayerDescription& layer, size_t input);

/// Whether each element of the layer's output is an element of an input.
bool moves_values(const LayerDescription& layer);

/// Stride of each layer's output in pixels of the image.
std::vector<double> layer_scales(const std::vector<LayerDescription>& layers);

/// Multiplications and additions of each layer's convolution in a forward pass of one image; 0 for the other layers.
std::vector<double> forward_flops(const Model& model, const InputSize& size);

/// The shape of a layer's output. Throws InputError when the inputs do not fit the layer.
Shape output_shape(const LayerDescription& layer, const std::vector<Shape>& inputs);

/// Returns a layer's parameters in the order of the layout; empty for most kinds of layers.
std::vector<ParameterSpec> parameters_of(const Model& model, const LayerDescription& layer);

}  // namespace brightnet
