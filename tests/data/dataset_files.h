// A folder of small images and label files for one test.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <opencv2/imgcodecs.hpp>

#include "core/text.h"
#include "data/formats/read.h"

namespace brightnet {

class DatasetFolder {
 public:
  DatasetFolder() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::filesystem::path(::testing::TempDir()) /
            (std::string(test->test_suite_name()) + '_' + test->name());
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  ~DatasetFolder() { std::filesystem::remove_all(root_); }

  const std::filesystem::path& root() const { return root_; }

  void text(const std::string& path, const std::string& content) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << content;
  }
  void bytes(const std::string& path, const std::vector<uint8_t>& content) const {
    text(path, std::string(content.begin(), content.end()));
  }
  void image(const std::string& path, int width = 100, int height = 80) const {
    bytes(path, encoded(lower_case(std::filesystem::path(path).extension()), width, height));
  }
  static std::vector<uint8_t> encoded(const std::string& extension, int width, int height) {
    cv::Mat pixels(height, width, CV_8UC3);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) pixels.at<cv::Vec3b>(y, x) = cv::Vec3b(x * 2 % 256, y * 3 % 256, 90);
    }
    std::vector<uint8_t> content;
    EXPECT_TRUE(cv::imencode(extension, pixels, content));
    return content;
  }
  /// A JPEG of this stored size whose EXIF says orientation 1 … 8.
  static std::vector<uint8_t> rotated_jpeg(int width, int height, uint8_t orientation) {
    std::vector<uint8_t> jpeg = encoded(".jpg", width, height);
    const std::vector<uint8_t> app1{0xFF, 0xE1, 0, 34, 'E',         'x', 'i', 'f', 0,    0, 'I', 'I',
                                    42,   0,    8, 0,  0,           0,   1,   0,   0x12, 1, 3,   0,
                                    1,    0,    0, 0,  orientation, 0,   0,   0,   0,    0, 0,   0};
    jpeg.insert(jpeg.begin() + 2, app1.begin(), app1.end());
    return jpeg;
  }

  DataOptions options(const std::string& format, const std::string& train, std::vector<std::string> classes,
                      const std::string& val = "") const {
    DataOptions out;
    out.format = &dataset_format(format);
    out.root = root_.string();
    out.train = train;
    out.val = val;
    out.classes = std::move(classes);
    return out;
  }

 private:
  std::filesystem::path root_;
};

inline void expect_box(const Annotation& a, int class_id, float x1, float y1, float x2, float y2) {
  EXPECT_EQ(a.class_id, class_id);
  EXPECT_NEAR(a.x1, x1, 1e-3);
  EXPECT_NEAR(a.y1, y1, 1e-3);
  EXPECT_NEAR(a.x2, x2, 1e-3);
  EXPECT_NEAR(a.y2, y2, 1e-3);
}

inline int count(const Dataset& dataset, DataProblem::Kind kind) {
  int n = 0;
  for (const auto& problem : dataset.problems) n += problem.kind == kind;
  return n;
}

/// The message of the InputError that reading throws; every one of them has exit code 2.
inline std::string message(const DataOptions& options, Split split = Split::train) {
  try {
    read_dataset(options, split);
  } catch (const InputError& e) {
    EXPECT_EQ(e.code(), ExitCode::input);
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << part << "' is not in '" << text << "'";
}

}  // namespace brightnet
