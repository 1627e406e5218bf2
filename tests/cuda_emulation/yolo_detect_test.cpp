#include "kernels/cuda/yolo_detect.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/cuda_emulation/device_array.h"
#include "tests/kernels/yolo_problem.h"

namespace brightnet::testing {
namespace {

using Lists = std::vector<std::vector<Detection>>;

template <typename T>
Lists detect_on_gpu(const Problem& problem, float threshold, cuda::YoloDetector& detector) {
  const DeviceArray<T> predictions(rounded<T>(problem.predictions));
  const DeviceArray<std::byte> workspace(cuda::yolo_detect_workspace(problem.head, problem.shape));
  const cuda::Stream stream;
  Lists found(static_cast<size_t>(problem.shape.n));
  detector.detect(problem.head, {predictions, problem.shape, type_of<T>}, threshold, found, workspace,
                  stream);
  return found;
}

Lists detect_on_cpu(const Problem& problem, float threshold) {
  Lists found(static_cast<size_t>(problem.shape.n));
  std::vector<float> predictions = problem.predictions;
  cpu::yolo_detect(problem.head, {predictions.data(), problem.shape, DType::f32}, threshold, found);
  return found;
}

/// Equal but for rounding: compilers contract multiplications and additions as they like.
void expect_same(const Detection& a, const Detection& b) {
  EXPECT_EQ(a.class_id, b.class_id);
  for (const auto& [x, y] : {std::pair{a.score, b.score},
                             {a.box.x, b.box.x},
                             {a.box.y, b.box.y},
                             {a.box.w, b.box.w},
                             {a.box.h, b.box.h}}) {
    EXPECT_NEAR(x, y, 1e-6f * std::max(1.0f, std::abs(y)));
  }
}

/// The same detections in the same order.
template <typename T>
void expect_equal_to_cpu(Problem problem, float threshold) {
  problem.predictions = widened(rounded<T>(problem.predictions));
  cuda::YoloDetector detector;
  const Lists gpu = detect_on_gpu<T>(problem, threshold, detector), cpu = detect_on_cpu(problem, threshold);
  for (size_t image = 0; image < cpu.size(); ++image) {
    ASSERT_EQ(gpu[image].size(), cpu[image].size()) << "image " << image;
    for (size_t i = 0; i < cpu[image].size(); ++i) {
      SCOPED_TRACE(i);
      expect_same(gpu[image][i], cpu[image][i]);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(GpuYoloDetect, FindsWhatTheCpuFindsInItsOrder) {
  for (const int side : {1, 13, 19}) {
    for (const int images : {1, 17}) {
      for (const float threshold : {0.0f, 0.3f, 1.0f}) {
        if (images == 17 && side == 19 && threshold == 0.0f) continue;
        SCOPED_TRACE(std::to_string(side) + " " + std::to_string(images) + " " + std::to_string(threshold));
        Problem problem(images, side, side, 3);
        problem.head.scale_xy = 1.1f;
        problem.randomize(1, 2.0f);
        expect_equal_to_cpu<float>(problem, threshold);
      }
    }
  }
}

TEST(GpuYoloDetect, FindsManyClassesInHalfPrecisions) {
  Problem problem(2, 13, 11, 81);
  problem.head.new_coords = true;
  problem.randomize(2, 2.0f);
  expect_equal_to_cpu<cuda::Half>(problem, 0.6f);
  expect_equal_to_cpu<cuda::Bf16>(problem, 0.6f);
}

TEST(GpuYoloDetect, KeepsTheBestOfTooManyJustAsTheCpuDoes) {
  Problem problem(3, 19, 19, 20);  // 14 440 candidates an image
  problem.randomize(3, 1.0f);
  // The second image has few, and the third very many of the same score.
  const size_t image = problem.predictions.size() / 3;
  for (size_t i = image; i < 2 * image; ++i) problem.predictions[i] -= 4;
  for (size_t i = 2 * image; i < 3 * image; ++i) problem.predictions[i] = i % 100 == 0 ? 1.0f : 0.5f;
  const Lists cpu = detect_on_cpu(problem, 0.0f);
  EXPECT_EQ(cpu[0].size(), max_candidates);
  EXPECT_EQ(cpu[2].size(), max_candidates);
  expect_equal_to_cpu<float>(problem, 0.0f);
  expect_equal_to_cpu<float>(problem, 0.001f);
}

TEST(GpuYoloDetect, AppendsToWhatOtherHeadsFoundAndMissesNaN) {
  Problem problem(1, 2, 2, 1);
  std::fill(problem.predictions.begin(), problem.predictions.end(), -20.0f);
  problem.predictions[problem.index(0, 1, 0, 1, 4)] = problem.predictions[problem.index(0, 1, 0, 1, 5)] = 5;
  problem.predictions[problem.index(0, 0, 1, 0, 4)] = NAN;
  problem.predictions[problem.index(0, 1, 1, 0, 4)] = 5;
  problem.predictions[problem.index(0, 1, 1, 0, 5)] = NAN;
  const DeviceArray<float> predictions(problem.predictions);
  const DeviceArray<std::byte> workspace(cuda::yolo_detect_workspace(problem.head, problem.shape));
  const cuda::Stream stream;
  cuda::YoloDetector detector;
  Lists found(1);
  for (const size_t expected : {1u, 2u}) {
    detector.detect(problem.head, {predictions, problem.shape, DType::f32}, 0.5f, found, workspace, stream);
    EXPECT_EQ(found[0].size(), expected);
  }
}

}  // namespace
}  // namespace brightnet::testing
