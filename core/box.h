// Boxes: relative to the image, by centre and size, or in its pixels, by corners.
#pragma once

namespace brightnet {

/// Centre and size as fractions of the image's width and height, in [0, 1] for a box inside it.
struct Box {
  float x = 0, y = 0, w = 0, h = 0;
};

/// One ground-truth object.
struct Truth {
  Box box;
  int class_id = 0;
};

/// One predicted object. `score` is objectness × class probability.
struct Detection {
  Box box;
  int class_id = 0;
  float score = 0;
};

/// A detection in pixels of the original image, by corners.
struct ScoredBox {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  int class_id = 0;
  float score = 0;
};

}  // namespace brightnet
