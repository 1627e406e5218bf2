// The options of augmentation: probability and strength of each transformation.
#pragma once

#include "core/config.h"

namespace brightnet {

/// A value is drawn uniformly between the two.
struct ValueRange {
  float low = 0, high = 0;
};

/// The shape that is assumed in an object's box; once it is turned or distorted, the new box is around it.
enum class WarpedBoxes : uint8_t {
  ellipse,  ///< the ellipse in the box: exact for round objects, and tighter for most others
  corners   ///< the box's corners: exact for objects that fill their boxes, too large for all others
};
constexpr std::string_view enum_name(WarpedBoxes rule) {
  switch (rule) {
    case WarpedBoxes::ellipse: return "ellipse";
    case WarpedBoxes::corners: return "corners";
  }
  return {};
}

/// The `augment:` section. Names and meanings follow darknet's [net] and [yolo] where it has them, else those
/// of Ultralytics.
struct AugmentOptions {
  float mosaic = 0.5f, mixup = 0.0f, flip = 0.5f;  ///< probabilities (mosaic: YOLOv4, §3.4)
  float jitter = 0.2f;                             ///< each side of the crop moves by up to this fraction
  float resize = 1.0f;  ///< the crop is scaled by up to this factor or 1 over it, on top of jitter
  float hue = 0.015f;   ///< shift of up to ± this fraction of the colour circle
  float saturation = 1.3f, exposure = 1.3f;  ///< multiplied or divided by up to this factor
  bool letterbox = false;                    ///< keep the aspect ratio (grey borders) instead of stretching
  float min_visible = 0.2f;  ///< a box is dropped when less than this fraction of its area remains visible
  Auto<float> mosaic_off;    ///< last fraction of the run, trained on single, whole images

  // data/augment/geometry.h
  float vertical_flip = 0, quarter_turns = 0;  ///< probabilities
  float rotate = 0, shear = 0;                 ///< angles of up to ± this many degrees
  float scale = 0;                             ///< factor drawn in 1 ± this
  float translate = 0;                         ///< shift of up to ± this fraction of the input's side
  float perspective = 0;                       ///< distortion of up to ± this, as Ultralytics at 640 pixels
  WarpedBoxes warped_boxes = WarpedBoxes::ellipse;

  // data/augment/pixels.h
  float blur = 0, noise = 0, grey = 0;  ///< probabilities
  ValueRange blur_sigma{0.5f, 1.5f};    ///< standard deviation, pixels of the input
  float blur_background = 0;            ///< probability; of images that `blur` leaves sharp
  ValueRange blur_background_sigma{2.0f, 3.0f};
  ValueRange noise_sigma{2.0f, 10.0f};  ///< standard deviation, of values up to 255

  // data/augment/cover.h, data/loader/sample.h, data/loader/paste.h
  float cutout = 0, cutmix = 0, copy_paste = 0;                  ///< probabilities
  int cutout_count = 4, copy_paste_count = 3;                    ///< the number is drawn from 1 to this
  ValueRange cutout_size{0.05f, 0.2f}, cutmix_size{0.3f, 0.6f};  ///< sides, as fractions of the input's
  float cutout_covered = 0.6f;      ///< a box is dropped when more than this fraction of it is covered
  float copy_paste_overlap = 0.1f;  ///< most overlap with another box, as a fraction of the smaller

  /// The last fraction of the run, trained on whole images: mosaic_off, or 0.1 where it was not chosen.
  float whole_images() const { return mosaic_off.value_or(0.1f); }

  void fields(Fields& f);
};

}  // namespace brightnet
