// The picture of a realistic model as a data set to calibrate on.
#pragma once

#include <filesystem>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "detect/quantization/calibrate.h"
#include "tests/formats/realistic_model.h"

namespace brightnet::testing {

struct OnePicture {
  Dataset dataset;

  explicit OnePicture(const RealisticModel& made) {
    const auto file = std::filesystem::path(::testing::TempDir()) / "picture.png";
    cv::Mat bgr;
    cv::cvtColor(made.image, bgr, cv::COLOR_RGB2BGR);
    cv::imwrite(file.string(), bgr);
    ImageRecord record;
    record.file = file;
    record.width = made.image.cols;
    record.height = made.image.rows;
    dataset.images = {record};
    dataset.classes = made.trained.classes;
  }
  CalibrationInputs inputs(const RealisticModel& made) const { return {dataset, 1, made.trained.fit(), 0}; }
};

}  // namespace brightnet::testing
