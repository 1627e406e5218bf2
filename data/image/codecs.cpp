#include "data/image/codecs.h"

#include <filesystem>
#include <new>

#include <link.h>
#include <opencv2/imgcodecs.hpp>

#include "core/error.h"

namespace brightnet {
namespace {

/// "libopencv_core.so.406" with its folder; empty when OpenCV is built into the program.
std::filesystem::path opencv_core() {
  std::filesystem::path core;
  const auto look = [](dl_phdr_info* library, size_t, void* found) {
    const std::filesystem::path file = library->dlpi_name;
    if (!file.filename().string().starts_with("libopencv_core")) return 0;
    *static_cast<std::filesystem::path*>(found) = file;
    return 1;
  };
  ::dl_iterate_phdr(look, &core);
  return core;
}

}  // namespace

SharedLibrary opencv_library(const std::string& module) {
  const std::filesystem::path core = opencv_core();
  const std::string prefix = "libopencv_";
  if (core.empty()) return SharedLibrary(prefix + module + ".so");
  const std::string rest = core.filename().string().substr((prefix + "core").size());
  return SharedLibrary(prefix + module + rest, {core.parent_path().string()});
}

#ifdef BRIGHTNET_LINKED_CODECS

// Programs that travel name all libraries that they need, for those who pack them.
cv::Mat decode_image(cv::InputArray bytes, int flags) {
  return cv::imdecode(bytes, flags);
}

bool encode_image(const std::string& ending, cv::InputArray image, std::vector<uint8_t>& bytes,
                  const std::vector<int>& parameters) {
  return cv::imencode(ending, image, bytes, parameters);
}

bool can_encode_image(const std::string& file) {
  return cv::haveImageWriter(file);
}

std::unique_ptr<cv::VideoCapture> make_video_capture() {
  return std::make_unique<cv::VideoCapture>();
}

std::unique_ptr<cv::VideoWriter> make_video_writer() {
  return std::make_unique<cv::VideoWriter>();
}

#else

namespace {

/// A function of one of OpenCV's libraries, by the name that the compiler gives it.
template <typename Function>
Function* function_of(const SharedLibrary& library, const char* name) {
  if (auto* function = library.function<Function>(name)) return function;
  const std::string reason = library.loaded() ? std::string("it has no ") + name : library.problem();
  throw InputError(
      "this file needs OpenCV's library " + library.name() + ", which cannot be used (" + reason + ")", "",
      "Install the OpenCV that brightnet was built with (Debian and Ubuntu: libopencv-dev), or build again.");
}

const SharedLibrary& image_codecs() {
  static const SharedLibrary library = opencv_library("imgcodecs");
  return library;
}

const SharedLibrary& video_codecs() {
  static const SharedLibrary library = opencv_library("videoio");
  return library;
}

/// An object of a class whose other functions are virtual: they come with it.
template <typename Object>
std::unique_ptr<Object> constructed(const char* constructor_name) {
  auto* constructor = function_of<void(void*)>(video_codecs(), constructor_name);
  void* memory = ::operator new(sizeof(Object));
  try {
    constructor(memory);
  } catch (...) {
    ::operator delete(memory);
    throw;
  }
  return std::unique_ptr<Object>(static_cast<Object*>(memory));
}

}  // namespace

cv::Mat decode_image(cv::InputArray bytes, int flags) {
  using Function = cv::Mat(cv::InputArray, int);
  static auto* function = function_of<Function>(image_codecs(), "_ZN2cv8imdecodeERKNS_11_InputArrayEi");
  return function(bytes, flags);
}

bool encode_image(const std::string& ending, cv::InputArray image, std::vector<uint8_t>& bytes,
                  const std::vector<int>& parameters) {
  using Function = bool(const std::string&, cv::InputArray, std::vector<uint8_t>&, const std::vector<int>&);
  static auto* function = function_of<Function>(
      image_codecs(),
      "_ZN2cv8imencodeERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKNS_11_InputArrayERSt6vectorIhSaIhEERKSB_IiSaIiEE");
  return function(ending, image, bytes, parameters);
}

bool can_encode_image(const std::string& file) {
  using Function = bool(const std::string&);
  static auto* function = function_of<Function>(
      image_codecs(), "_ZN2cv15haveImageWriterERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE");
  return function(file);
}

std::unique_ptr<cv::VideoCapture> make_video_capture() {
  return constructed<cv::VideoCapture>("_ZN2cv12VideoCaptureC1Ev");
}

std::unique_ptr<cv::VideoWriter> make_video_writer() {
  return constructed<cv::VideoWriter>("_ZN2cv11VideoWriterC1Ev");
}

#endif

}  // namespace brightnet
