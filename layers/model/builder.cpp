#include "layers/model/builder.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/json.h"

namespace brightnet {
namespace {

/// More than any network has: blocks that repeat each other make 10^24 of a few lines.
constexpr size_t most_layers = 10'000;

int checked_channels(const LayerDescription& layer, int64_t channels) {
  if (channels <= max_channels) return static_cast<int>(channels);
  throw InputError("'" + layer.name + "' would have " + std::to_string(channels) +
                       " channels, and a layer can have " + std::to_string(max_channels),
                   layer.where);
}

void check_input_count(int wanted, const LayerDescription& layer) {
  if (wanted == any_number || std::ssize(layer.inputs) == wanted) return;
  if (wanted == 1) throw InputError("this kind of layer reads exactly one other", layer.where);
  throw InputError("this kind of layer reads exactly " + std::to_string(wanted) + " others", layer.where,
                   "Write from: [a, b].");
}

void check_mask(const YoloAttributes& yolo, const LayerDescription& layer) {
  for (const int anchor : std::span(yolo.head.mask, static_cast<size_t>(yolo.head.mask_count))) {
    if (anchor >= 0 && anchor < yolo.head.anchor_count) continue;
    throw InputError("'mask' names anchor " + std::to_string(anchor) + ", but there are " +
                         std::to_string(yolo.head.anchor_count) + ", counted from 0",
                     layer.where, "The anchors are listed at " + yolo.anchors_where + '.');
  }
}

/// Checks that a layer leaves the output of a global pool, one pixel, at that size, and that it is no head.
void check_one_pixel(const LayerDescription& layer) {
  const bool enlarges = std::visit([](const auto& kind) { return kind.side(1) != 1; }, layer.attributes);
  if (!enlarges && !is_head(layer)) return;
  throw InputError("'" + layer.name + "' reads the single pixel that a global_average_pool makes, which " +
                       (is_head(layer) ? "is no map for a head" : "it would change the size of"),
                   layer.where, "Between that pool and a scale_channels stand convolutions of size 1.");
}

}  // namespace

ModelBuilder::ModelBuilder(Model model) : model_(std::move(model)) {
  model_.layers.clear();
}

int ModelBuilder::add(LayerDescription layer) {
  if (model_.layers.size() == most_layers) {
    throw InputError(fmt::format("the model has more than {} layers", most_layers), layer.where,
                     "Do blocks repeat each other?");
  }
  if (written_text(layer.name) != layer.name) {
    throw InputError("the layer's name '" + layer.name + "' is not UTF-8, as files of weights have it",
                     layer.where, "Save the file as UTF-8, or name the layer in ASCII.");
  }
  // By their names layers find their parameters, in memory and in files.
  if (!names_.insert(layer.name).second) {
    throw InputError("there are two layers named '" + layer.name + "'", layer.where,
                     "A layer c of a block a is named a.c.");
  }
  std::visit([&](auto& attributes) { complete(attributes, layer); }, layer.attributes);
  model_.layers.push_back(std::move(layer));
  return static_cast<int>(model_.layers.size()) - 1;
}

int ModelBuilder::known_channels(int index, const LayerDescription& layer) const {
  check_no_head(index, layer);
  const int channels = model_.channels_of(index);
  if (channels > 0) return channels;
  throw InputError("'" + layer.name + "' reads '" + model_.layers[index].name + "', whose filters are auto",
                   layer.where, "Only a yolo layer may read it.");
}

// The gradient of its predictions is that of its loss, and nothing else's.
void ModelBuilder::check_no_head(int index, const LayerDescription& layer) const {
  if (index == network_input || !is_head(model_.layers[index])) return;
  throw InputError(
      "'" + layer.name + "' reads '" + model_.layers[index].name + "', a yolo layer, which ends its branch",
      layer.where, "Name the layer where the next branch begins: from: NAME.");
}

template <LayerKind Kind>
void ModelBuilder::complete(const Kind& kind, LayerDescription& layer) const {
  check_input_count(Kind::inputs, layer);
  std::vector<int> channels;
  for (const int input : layer.inputs) channels.push_back(known_channels(input, layer));
  if constexpr (requires { kind.refusal(channels); }) {
    if (const std::string why = kind.refusal(channels); !why.empty()) throw InputError(why, layer.where);
  }
  layer.channels = checked_channels(layer, kind.channels(channels));
}

/// Also sets the filters of the convolution before the head, if they are `auto`.
void ModelBuilder::complete(YoloAttributes& yolo, LayerDescription& layer) {
  check_input_count(YoloAttributes::inputs, layer);
  if (yolo.head.mask_count == 0) throw InputError("a yolo layer needs a mask", layer.where);
  check_mask(yolo, layer);
  if (layer.inputs[0] == network_input) throw InputError("a yolo layer cannot read the image", layer.where);
  check_no_head(layer.inputs[0], layer);
  yolo.head.classes = model_.classes;
  if (!yolo.class_weights.empty() && std::ssize(yolo.class_weights) != model_.classes) {
    throw InputError("class_weights lists " + std::to_string(yolo.class_weights.size()) + " numbers for " +
                         std::to_string(model_.classes) + " classes",
                     yolo.class_weights_where,
                     "List as many, or write auto (more for rare classes) or off (1 for all).");
  }
  const int needed = checked_channels(layer, int64_t{yolo.head.mask_count} * (5 + int64_t{model_.classes}));
  LayerDescription& source = model_.layers[layer.inputs[0]];
  if (source.channels == 0) {
    std::get<ConvAttributes>(source.attributes).filters = needed;
    source.channels = needed;
  } else if (source.channels != needed) {
    throw InputError("this head needs " + std::to_string(needed) +
                         " channels (anchors · (5 + classes)), and '" + source.name + "' has " +
                         std::to_string(source.channels),
                     layer.where, "Write filters: auto there.");
  }
  layer.channels = needed;
}

Model ModelBuilder::finish(const std::string& where) {
  for (const LayerDescription& layer : model_.layers) {
    if (layer.channels > 0) continue;
    throw InputError("'filters: auto' has no yolo layer after it", layer.where, "Write a number.");
  }
  const std::vector<double> scales = layer_scales(model_.layers);
  for (const LayerDescription& layer : model_.layers) check_inputs(layer, scales);
  model_.stride = 1;
  for (const double scale : scales) model_.stride = std::max(model_.stride, static_cast<int>(scale));
  check_readers(where);
  return std::move(model_);
}

void ModelBuilder::check_inputs(const LayerDescription& layer, const std::vector<double>& scales) const {
  const auto scale_of = [&](int input) { return input == network_input ? 1.0 : scales[input]; };
  const double scale = scale_of(layer.inputs[0]);
  if (scale == whole_image) check_one_pixel(layer);
  for (size_t i = 0; i < layer.inputs.size(); ++i) {
    const bool one_pixel = reads_one_pixel(layer, i);
    if (scale_of(layer.inputs[i]) == (one_pixel ? whole_image : scale)) continue;
    if (one_pixel) {
      throw InputError("the second input of '" + layer.name + "' is not one pixel for the whole image",
                       layer.where, "Write from: [map, factors], the factors after a global_average_pool.");
    }
    throw InputError("the inputs of '" + layer.name + "' have different sizes", layer.where,
                     "Upsample or pool one of them first.");
  }
}

void ModelBuilder::check_readers(const std::string& where) const {
  if (std::none_of(model_.layers.begin(), model_.layers.end(), is_head))
    throw InputError("the model has no yolo layer", where);
  std::vector<bool> read(model_.layers.size());
  for (const LayerDescription& layer : model_.layers) {
    for (const int input : layer.inputs) {
      if (input != network_input) read[input] = true;
    }
  }
  for (size_t i = 0; i < read.size(); ++i) {
    if (read[i] || is_head(model_.layers[i])) continue;
    throw InputError("nothing reads '" + model_.layers[i].name + "'", model_.layers[i].where,
                     "Remove it, or name it in the 'from' of a later layer.");
  }
}

}  // namespace brightnet
