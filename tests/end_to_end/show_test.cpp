// `detect --show`, with a library in place of OpenCV's that writes down what it is shown.
#include <dlfcn.h>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "tests/end_to_end/program.h"
#include "tests/environment.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// The name by which the program asks for the library: that of OpenCV's core, "libopencv_core.so.406", with another word.
std::string name_of_window_library() {
  Dl_info info{};
  const std::string core = "core";
  if (::dladdr(reinterpret_cast<const void*>(&cv::getBuildInformation), &info) == 0) return "";
  std::string name = fs::path(info.dli_fname).filename().string();
  const size_t at = name.find(core);
  return at == std::string::npos ? "" : name.replace(at, core.size(), "highgui");
}

TEST(ShowCommand, ShowsColoursAsTheyAreInTheFile) {
  const SmallRun run(1, 1);
  write_small_weights(run);
  const std::string name = name_of_window_library();
  if (name.empty()) GTEST_SKIP() << "OpenCV is a part of the program";
  fs::create_directories(run.folder() / "libraries");
  fs::create_symlink(unseen_window(), run.folder() / "libraries" / name);
  Environment environment;
  environment.set("DISPLAY", ":0");
  const char* before = std::getenv("LD_LIBRARY_PATH");
  environment.set("LD_LIBRARY_PATH",
                  (run.folder() / "libraries").string() + (before ? ':' + std::string(before) : ""));
  const fs::path picture = run.folder() / "picture.png";
  const auto shown = [&](int height, int width) {
    cv::imwrite(picture.string(),
                cv::Mat(height, width, CV_8UC3, cv::Scalar(20, 90, 200)));  // blue, green, red
    const ProgramResult result =
        run_program({"detect", "--weights", "weights.safetensors", "--source", "picture.png", "--device",
                     "cpu", "--conf", "1", "--show", "--no-save"},
                    run.folder());
    EXPECT_EQ(result.code, 0) << result.err;
    return read_file(run.folder() / "shown.txt");
  };
  EXPECT_EQ(shown(48, 64), "64x48 20 90 200") << "OpenCV shows BGR";
  EXPECT_EQ(shown(300, 2000), "1600x240 20 90 200") << "at most so wide";
  EXPECT_EQ(shown(1200, 400), "300x900 20 90 200") << "and so high, as screens are";
}

}  // namespace
}  // namespace brightnet::testing
