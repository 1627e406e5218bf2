// A model as its YAML describes it: a list of named layers, each reading earlier ones. No sizes yet, no
// memory.
//
//   name: yolov4-tiny
//   input: {size: 416, channels: 3}
//   activation: leaky                 # of every conv that does not say otherwise
//   head: {anchors: [[10, 14], …]}    # what all yolo layers share
//   blocks:
//     csp:                            # a block is a named list of layers with parameters
//       parameters: [filters]
//       layers:
//         - conv: {name: in, filters: $filters, size: 3}
//         - split: {groups: 2, part: 1}
//   layers:
//     - conv: {filters: 32, size: 3, stride: 2}
//     - csp: {name: stage1, filters: 64}
//     - conv: {from: stage1.in, filters: auto, size: 1, batch_norm: false, activation: linear}
//     - yolo: {mask: [3, 4, 5]}
//
// A layer reads the one before it unless `from` names another: a name of the same list, `block.inner` for a
// layer inside a block, or `input` for what the block (or the network) was given. Numbers may be written as
// $parameter, $parameter/2 or 2*$parameter. `filters: auto` is what the yolo layer behind it needs. `repeat:
// n` repeats a block.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "core/config.h"
#include "kernels/math/activation.h"
#include "kernels/yolo.h"

namespace brightnet {

struct ConvAttributes {
  int filters = 0;  ///< output channels
  int size = 1, stride = 1;
  int padding = -1;  ///< on every side; −1: size / 2
  bool batch_norm = true;
  Activation activation = Activation::linear;
  bool full_precision = false;  ///< computes in fp32 whatever the network computes in
};

struct MaxPoolAttributes {
  int size = 2, stride = 2;
};

/// Spatial pyramid pooling: the input and its stride-1 max-pools, concatenated (largest window first).
struct SppAttributes {
  std::vector<int> windows{5, 9, 13};
};

struct ConcatAttributes {};

/// Keeps the part-th of `groups` equal groups of channels.
struct SplitAttributes {
  int groups = 2, part = 0;
};

/// Sum of its two inputs, then an activation. `partial` allows different channels, as darknet's [shortcut]
/// does: the output has the first input's, and only those that the second has too are sums.
struct ShortcutAttributes {
  Activation activation = Activation::linear;
  bool partial = false;
};

/// Element-wise product of its two inputs: YOLOv4's spatial attention, darknet's [sam].
struct MultiplyAttributes {};

struct UpsampleAttributes {
  int factor = 2;
};

/// Every block × block pixels become one: [h, w, c] → [h / block, w / block, block²·c], the channels of the
/// block's pixels one after the other, row by row (darknet's [reorg3d]).
struct SpaceToDepthAttributes {
  int block = 2;
};

/// Channels of a layer at most: more than any network has, and few enough to count a layer's weights.
constexpr int max_channels = 65536;

/// `head` is complete but for the input's size, which the network knows.
struct YoloAttributes {
  YoloHead head;
  std::string anchors_where;         ///< the place that the anchors were read at, for messages
  std::vector<float> class_weights;  ///< empty: all 1
  NmsKind nms = NmsKind::greedy;     ///< where nothing else is asked for
  float nms_beta = 0.6f;
};

using LayerAttributes = std::variant<ConvAttributes, MaxPoolAttributes, SppAttributes, ConcatAttributes,
                                     SplitAttributes, ShortcutAttributes, MultiplyAttributes,
                                     UpsampleAttributes, SpaceToDepthAttributes, YoloAttributes>;

/// Index of the network's input where a layer's inputs are listed.
constexpr int network_input = -1;

struct LayerDescription {
  std::string name;         ///< unique, e.g. "stage1.in"
  std::vector<int> inputs;  ///< indices of earlier layers, or network_input
  LayerAttributes attributes;
  std::string where;  ///< "file:line"
  int channels = 0;   ///< of its output
  /// Factor on the learning rate of its parameters. 0: frozen; nothing changes them, and batch-norm uses its
  /// running statistics.
  float rate = 1;
};

struct Model {
  std::string name;
  int size = 416;  ///< default side of the square input, in pixels
  int channels = 3;
  int classes = 0;
  int stride = 32;  ///< the input's sides must be multiples of this
  std::vector<LayerDescription> layers;
  std::string yaml;  ///< the whole description as YAML, with `classes` and head options resolved

  /// "conv", "max_pool", … as the YAML calls it.
  static std::string kind(const LayerDescription& layer);
};

/// Reads a model; `classes` sets the heads' width. `head_overrides` (may be undefined) is a mapping laid over
/// the model's `head:`. Throws InputError with file and line for anything that does not make sense.
Model load_model(const std::filesystem::path& file, int classes, const YamlValue& head_overrides = {});
Model parse_model(const YamlDocument& document, int classes, const YamlValue& head_overrides = {});

}  // namespace brightnet
