#include "data/augment/options.h"

namespace brightnet {

void AugmentOptions::fields(Fields& f) {
  f("mosaic", mosaic, "probability that a sample is composed of four images").within(0, 1);
  f("mixup", mixup, "probability that a second sample is blended in").within(0, 1);
  f("flip", flip, "probability of a horizontal flip, per image").within(0, 1);
  f("jitter", jitter, "each side of the crop moves by up to this fraction").within(0, 0.45);
  f("resize", resize, "zoom in or out by up to this factor, on top of jitter").within(1, 4);
  f("hue", hue, "hue shift of up to ± this fraction of the colour circle").within(0, 0.5);
  f("saturation", saturation, "saturation is multiplied or divided by up to this factor").within(1, 10);
  f("exposure", exposure, "brightness is multiplied or divided by up to this factor").within(1, 10);
  f("letterbox", letterbox, "keep the aspect ratio (grey borders) instead of stretching");
  f("min_visible", min_visible, "a box is dropped when less than this fraction of it remains visible")
      .within(0, 1);
  f("mosaic_off", mosaic_off, "last fraction of the run without mosaic and mixup").within(0, 1);
}

}  // namespace brightnet
