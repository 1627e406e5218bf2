// libjpeg without memory, in a process of its own.
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/data/encoded_jpeg.h"

namespace brightnet::testing {
namespace {

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which end the process

/// The process gets no more pages than it has.
void take_address_space() {
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = 1;
  ::setrlimit(RLIMIT_AS, &limit);
}

/// Nor a large part of the pages that it has, such as what tests before this one released.
void take_large_memory() {
  take_address_space();
  void* volatile taken = nullptr;
  for (size_t bytes = size_t{256} << 20; bytes >= size_t{2} << 20; bytes /= 2) {
    do taken = std::malloc(bytes);
    while (taken);
  }
}

/// Nor any part of them.
void take_all_memory() {
  take_large_memory();
  void* volatile taken = nullptr;
  for (size_t bytes = size_t{1} << 20; bytes >= 16; bytes = bytes > 2048 ? bytes / 2 : bytes - 16) {
    do taken = std::malloc(bytes);
    while (taken);
  }
}

template <typename Work>
[[noreturn]] void end_after(void (*take_memory)(), const Work& work) {
  take_memory();
  try {
    work();
  } catch (const std::bad_alloc&) {
    std::_Exit(7);
  } catch (...) {
    std::_Exit(1);
  }
  std::_Exit(0);
}

const ::testing::ExitedWithCode threw_bad_alloc(7);

TEST(JpegMemory, ThatIsLackingFromTheStartIsNoBrokenFileAndNoCrash) {
  const cv::Mat image = smooth_image({64, 48});
  const auto file = encoded_jpeg(image);
  EXPECT_EXIT(end_after(take_all_memory, [&] { decode_jpeg(file, 1); }), threw_bad_alloc, "");
  EXPECT_EXIT(end_after(take_all_memory, [&] { jpeg_is_whole(file); }), threw_bad_alloc, "");
  EXPECT_EXIT(end_after(take_all_memory, [&] { encode_jpeg(image, 90); }), threw_bad_alloc, "");
}

TEST(JpegMemory, ThatIsTooLittleForAllScansIsNoBrokenFile) {
  const auto file =
      encoded_jpeg(cv::Mat(4500, 4500, CV_8UC3, cv::Scalar(90, 120, 30)), {.progressive = true});
  EXPECT_EXIT(end_after(take_large_memory, [&] { decode_jpeg(file, 8); }), threw_bad_alloc, "");
  EXPECT_EXIT(end_after(take_large_memory, [&] { jpeg_is_whole(file); }), threw_bad_alloc, "");
}

#endif

}  // namespace
}  // namespace brightnet::testing
