// OpenCV's functions that read and write images, as tests call them. A test program that was linked with the library itself would
// take a fifth of a second to start, and there are hundreds of starts (data/image/codecs.h).
#include <opencv2/imgcodecs.hpp>

#include "core/error.h"
#include "data/image/codecs.h"

namespace {

template <typename Function>
Function* real(const char* name) {
  static const brightnet::SharedLibrary library = brightnet::opencv_library("imgcodecs");
  auto* function = library.function<Function>(name);
  BRIGHTNET_CHECK(function, library.name() + " has no " + name + ' ' + library.problem());
  return function;
}

}  // namespace

namespace cv {

Mat imdecode(InputArray bytes, int flags) {
  return brightnet::decode_image(bytes, flags);
}

bool imencode(const String& ending, InputArray image, std::vector<uchar>& bytes,
              const std::vector<int>& parameters) {
  return brightnet::encode_image(ending, image, bytes, parameters);
}

Mat imread(const String& file, int flags) {
  return real<Mat(const String&, int)>(
      "_ZN2cv6imreadERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEi")(file, flags);
}

bool imwrite(const String& file, InputArray image, const std::vector<int>& parameters) {
  using Function = bool(const String&, InputArray, const std::vector<int>&);
  return real<Function>(
      "_ZN2cv7imwriteERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKNS_11_InputArrayERKSt6vectorIiSaIiEE")(
      file, image, parameters);
}

}  // namespace cv
