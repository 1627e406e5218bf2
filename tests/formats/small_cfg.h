// A darknet configuration with every kind of section, small enough to be read at a glance and to be
// broken often.
#pragma once

#include <string>

namespace brightnet::testing {

inline const std::string small_cfg = R"([net]
batch=8
subdivisions=2
width=64
height=64
channels=3
momentum=0.9
decay=0.0005
learning_rate=0.001
burn_in=100
max_batches = 2000
policy=steps
steps=1600,1800
scales=.1,.1
mosaic=1
letter_box=1

[convolutional]
batch_normalize=1
filters=8
size=3
stride=2
pad=1
activation=leaky

[convolutional]
batch_normalize=1
filters=8
size=1
stride=1
pad=1
activation=leaky

[convolutional]
batch_normalize=1
filters=8
size=3
stride=1
pad=1
activation=leaky

[shortcut]
from=-3
activation=linear

[convolutional]
batch_normalize=1
filters=8
size=1
stride=1
pad=1
activation=leaky

[convolutional]
batch_normalize=1
filters=8
size=3
stride=1
pad=1
activation=leaky

[shortcut]
from=-3
activation=linear

[route]
layers=-1
groups=2
group_id=1

[maxpool]
size=5
stride=1

[route]
layers=-2

[maxpool]
size=9
stride=1

[route]
layers=-1,-3,-4

[convolutional]
batch_normalize=1
filters=12
size=1
stride=1
pad=1
activation=logistic

[sam]
from=-2

[reorg3d]
stride=2

[maxpool]
size=2
stride=1

[upsample]
stride=2

[route]
layers=-1,-4

[convolutional]
size=1
stride=1
pad=1
filters=14
activation=logistic

[yolo]
mask = 0,1
anchors = 10,14,  23,27
classes=2
num=2
jitter=.3
scale_x_y = 2.0
iou_thresh=0.2
obj_normalizer=0.4
iou_normalizer=0.05
iou_loss=ciou
nms_kind=greedynms
beta_nms=0.8
new_coords=1
resize=1.5
random=1
max_delta=5
)";

/// The text with the first `from` replaced; empty when there is none.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? "" : text.replace(at, from.size(), to);
}

}  // namespace brightnet::testing
