// The options of augmentation: probability and strength of each transformation.
#pragma once

#include "core/config.h"

namespace brightnet {

/// The `augment:` section. Names and meanings follow darknet's [net] and [yolo] where it has them.
struct AugmentOptions {
  float mosaic = 1.0f, mixup = 0.0f, flip = 0.5f;  ///< probabilities (mosaic: YOLOv4, §3.4)
  float jitter = 0.3f;                             ///< each side of the crop moves by up to this fraction
  float resize = 1.0f;  ///< the crop is scaled by up to this factor or 1 over it, on top of jitter
  float hue = 0.1f;     ///< shift of up to ± this fraction of the colour circle
  float saturation = 1.5f, exposure = 1.5f;  ///< multiplied or divided by up to this factor
  bool letterbox = false;                    ///< keep the aspect ratio (grey borders) instead of stretching
  float min_visible = 0.2f;  ///< a box is dropped when less than this fraction of its area remains visible
  float mosaic_off = 0.1f;   ///< last fraction of the run trained without mosaic and mixup
  void fields(Fields& f);
};

}  // namespace brightnet
