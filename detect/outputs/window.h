// A window with the pictures of `detect --show`, by OpenCV's window library. That is loaded only then: it brings a
// desktop's toolkit along, which a server has no use for.
#pragma once

#include <opencv2/core.hpp>

namespace brightnet {

/// The sides at which a picture is shown: at most as large as screens are, and at least one pixel.
cv::Size screen_size(const cv::Size& picture);

class Window {
 public:
  /// Throws InputError where there is no display, or no such library.
  Window();

  /// Shows an RGB picture: a still one until a key is pressed, one of a clip while the next is computed. Returns false
  /// when the user wants no more: Esc, q, or a still picture's window closed. Throws InputError when no window can be
  /// opened.
  bool show(const cv::Mat& rgb, bool still);

 private:
  // Functions of OpenCV's C interface.
  void (*show_image_)(const char* window, const void* image) = nullptr;
  int (*wait_key_)(int milliseconds) = nullptr;
};

}  // namespace brightnet
