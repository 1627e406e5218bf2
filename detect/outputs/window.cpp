#include "detect/outputs/window.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include <opencv2/core/types_c.h>
#include <opencv2/imgproc.hpp>

#include "core/error.h"
#include "data/image/codecs.h"

namespace brightnet {
namespace {

constexpr const char* remedy = "Leave --show out: images and videos with boxes are written to --out.";

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value != '\0';
}

cv::Mat fitted(const cv::Mat& rgb) {
  cv::Mat bgr;
  cv::resize(rgb, bgr, screen_size(rgb.size()), 0, 0, cv::INTER_AREA);
  cv::cvtColor(bgr, bgr, cv::COLOR_RGB2BGR);
  return bgr;
}

}  // namespace

cv::Size screen_size(const cv::Size& picture) {
  const double scale = std::min({1.0, 1600.0 / picture.width, 900.0 / picture.height});
  return {std::max(1, cvRound(scale * picture.width)), std::max(1, cvRound(scale * picture.height))};
}

Window::Window() {
  if (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY"))
    throw InputError("there is no display to show pictures on: neither $DISPLAY nor $WAYLAND_DISPLAY is set",
                     "--show", remedy);
  const SharedLibrary library = opencv_library("highgui");
  show_image_ = library.function<void(const char*, const void*)>("cvShowImage");
  wait_key_ = library.function<int(int)>("cvWaitKey");
  if (!show_image_ || !wait_key_) {
    throw InputError("windows need OpenCV's library " + library.name() + ", which cannot be loaded (" +
                         library.problem() + ")",
                     "--show",
                     "Install it (Debian and Ubuntu: libopencv-highgui-dev). " + std::string(remedy));
  }
}

bool Window::show(const cv::Mat& rgb, bool still) {
  const cv::Mat bgr = fitted(rgb);
  const CvMat image = cvMat(bgr.rows, bgr.cols, CV_8UC3, bgr.data);
  try {
    show_image_("brightnet", &image);
    const int key = wait_key_(still ? 0 : 1);
    const bool closed = still && key < 0;
    return !closed && (key & 0xFF) != 'q' && (key & 0xFF) != 27;
  } catch (const cv::Exception& e) {
    throw InputError("no window can be opened on this display: " + e.err, "--show", remedy);
  }
}

}  // namespace brightnet
