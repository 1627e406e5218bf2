// The options of augmentation: how likely and how far training images are changed.
#pragma once

#include "core/config.h"

namespace brightnet {

/// The `augment:` section. Names and meanings follow darknet's [net] and [yolo] where it has them.
struct AugmentOptions {
  float mosaic = 1.0f;       ///< chance that a sample is made of four images (YOLOv4, §3.4)
  float mixup = 0.0f;        ///< chance that a second sample is blended in
  float flip = 0.5f;         ///< chance of a left-right flip, per image
  float jitter = 0.3f;       ///< crop/scale: each side of the crop moves by up to this fraction
  float resize = 1.0f;       ///< zoom: the crop shrinks or grows by up to this factor, on top of jitter
  float hue = 0.1f;          ///< shift of up to ± this fraction of the colour circle
  float saturation = 1.5f;   ///< factor of up to this, or 1 over it
  float exposure = 1.5f;     ///< factor of up to this, or 1 over it
  bool letterbox = false;    ///< keep the aspect ratio (grey borders) instead of stretching
  float min_visible = 0.2f;  ///< a box is dropped when less than this part of its area stays in sight
  float mosaic_off = 0.1f;   ///< last fraction of the epochs trained without mosaic and mixup
  void fields(Fields& f);
};

}  // namespace brightnet
