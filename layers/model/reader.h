// The YAML of a model:
//
//   name: yolov4-tiny
//   input: {size: 416, channels: 3}
//   activation: leaky                 # default of every conv
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
// layer inside a block, or `input` for the input of the block (or network). None reads a yolo layer, with which a
// branch ends. Numbers may be written as
// $parameter, $parameter/2 or 2*$parameter. `filters: auto` is the number that the yolo layer after it needs.
// `repeat: n` repeats a block.
#pragma once

#include <filesystem>

#include "core/config.h"
#include "layers/model/model.h"

namespace brightnet {

/// Reads a model; `classes` sets the heads' width (0: the model's own). The keys of `head` win over those of the model's
/// yolo layers, which win over those of its `head:`. Throws InputError with file and line for an invalid model.
Model load_model(const std::filesystem::path& file, int classes, const HeadOptions& head = {},
                 int channels = 0);
Model parse_model(const YamlDocument& document, int classes, const HeadOptions& head = {}, int channels = 0);

/// Gives all heads of a model these keys, as if it had been read with them. They fit it: anchors for every mask, a
/// weight for every class.
void set_head(const HeadOptions& head, Model& model);

}  // namespace brightnet
