// Boxes relative to the image, by centre and size.
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

}  // namespace brightnet
