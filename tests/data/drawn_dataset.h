// A data set drawn for a test: flat shapes of known, distinct colours over grey, written as PNG, so that
// every pixel is exactly what was drawn.
#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "core/random.h"
#include "data/dataset.h"

namespace brightnet {

/// A folder of the running test's own, empty.
inline std::filesystem::path test_folder() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) /
                                       (std::string(test->test_suite_name()) + "_" + test->name());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

/// `count` images of different sizes around 120 × 90, each in its own grey with one coloured box of its
/// own hue.
inline Dataset draw_dataset(const std::filesystem::path& folder, int count,
                            const std::string& extension = ".png") {
  Dataset dataset;
  dataset.classes = {"box"};
  Random random(1, Purpose::test);
  for (int i = 0; i < count; ++i) {
    ImageRecord record;
    record.width = 100 + static_cast<int>(random.below(40));
    record.height = 70 + static_cast<int>(random.below(40));
    cv::Mat image(record.height, record.width, CV_8UC3, cv::Scalar::all(40 + 8 * (i % 16)));
    const int x = static_cast<int>(random.below(50)), y = static_cast<int>(random.below(30));
    const cv::Rect box(x, y, 30 + static_cast<int>(random.below(20)),
                       25 + static_cast<int>(random.below(15)));
    cv::rectangle(image, box, cv::Scalar(i % 3 == 0 ? 230 : 0, i % 3 == 1 ? 230 : 0, i % 3 == 2 ? 230 : 0),
                  cv::FILLED);
    record.annotations.push_back({static_cast<float>(box.x), static_cast<float>(box.y),
                                  static_cast<float>(box.br().x), static_cast<float>(box.br().y), 0, false,
                                  false, static_cast<float>(box.area())});
    record.file = folder / (std::to_string(i) + extension);
    record.id = i;
    cv::imwrite(record.file.string(), image);
    dataset.images.push_back(record);
  }
  return dataset;
}

}  // namespace brightnet
