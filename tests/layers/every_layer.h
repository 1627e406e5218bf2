// A small model with a layer of every kind, every activation, and pools that need uneven padding.
#pragma once

#include "tests/layers/models.h"

namespace brightnet::testing {

inline Model every_layer_model() {
  return model_of(R"(
name: every-layer
input: {size: 64, channels: 3}
activation: leaky
head: {anchors: [[8, 10], [14, 12], [22, 30], [40, 32]], scale_xy: 1.05}
layers:
  - conv: {filters: 8, size: 3, stride: 2, activation: mish}
  - conv: {name: a, filters: 16, size: 3, activation: swish}
  - split: {groups: 2, part: 1}
  - conv: {filters: 16, size: 1, activation: relu}
  - shortcut: {name: sum, from: [conv2, a], activation: leaky}
  - max_pool: {size: 2, stride: 2}
  - max_pool: {size: 2, stride: 1}
  - conv: {name: fine, filters: 24, size: 3, stride: 2, activation: mish}
  - conv: {filters: 24, size: 5, stride: 2, padding: 2}
  - max_pool: {size: 3, stride: 1}
  - spp: {windows: [5, 3]}
  - conv: {name: wide, filters: 24, size: 1, activation: hardswish}
  - conv: {name: gate, filters: 24, size: 1, activation: logistic}
  - multiply: {from: [gate, wide]}
  - conv: {name: narrow, filters: 16, size: 1}
  - shortcut: {from: [multiply1, narrow], partial: true}
  - shortcut: {name: cut, from: [narrow, shortcut1], partial: true}
  - conv: {name: bypass, from: fine, filters: 4, size: 1}
  - space_to_depth: {block: 2}
  - concat: {from: [space_to_depth1, cut]}
  - conv: {name: grouped, filters: 24, size: 3, groups: 4, activation: swish}
  - channel_shuffle: {name: mixed, groups: 4}
  - global_average_pool: {}
  - conv: {name: squeeze, filters: 8, size: 1, batch_norm: false, activation: relu}
  - conv: {name: gates, filters: 24, size: 1, batch_norm: false, activation: logistic}
  - scale_channels: {from: [mixed, gates]}
  - average_pool: {size: 3, stride: 1}
  - conv: {name: regrouped, filters: 16, size: 3, groups: 8}
  - weighted_sum: {from: [regrouped, narrow], normalization: softmax, activation: leaky}
  - conv: {name: coarse, filters: 16, size: 1, activation: linear}
  - upsample: {factor: 2}
  - conv: {filters: 24, size: 1, activation: logistic}
  - concat: {from: [conv4, fine]}
  - conv: {filters: auto, size: 3, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
  - conv: {from: coarse, filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [2, 3], scale_xy: 2, new_coords: true}
)",
                  3);
}

}  // namespace brightnet::testing
