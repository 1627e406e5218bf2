// In place of OpenCV's library of windows, for `detect --show`: writes down what is shown, which nobody sees.
#include <fstream>

#include <opencv2/core/types_c.h>

/// The sides and the first pixel, in the order of its channels.
extern "C" void cvShowImage(const char*, const CvMat* image) {
  const unsigned char* const pixel = image->data.ptr;
  std::ofstream("shown.txt") << image->cols << 'x' << image->rows << ' ' << int{pixel[0]} << ' '
                             << int{pixel[1]} << ' ' << int{pixel[2]};
}

/// A key that ends nothing.
extern "C" int cvWaitKey(int) {
  return 'a';
}
