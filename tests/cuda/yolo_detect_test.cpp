// The GPU's detections against the CPU's, which tests/kernels/yolo_detect_test.cpp compares
// with fp64 formulas.
#include <cmath>

#include "tests/kernels/reference.h"
#include "tests/kernels/yolo_problem.h"

namespace brightnet::testing {
namespace {

using Lists = std::vector<std::vector<Detection>>;

/// Appends what the GPU finds in these predictions, rounded to the type. `padding`: channels beyond the head's.
void detect_on_gpu(const Problem& problem, DType type, float threshold, Lists& found, int padding = 0) {
  Shape padded = problem.shape;
  padded.c += padding;
  OwnedTensor predictions(padded, type);
  const auto own = static_cast<size_t>(problem.shape.c), all = static_cast<size_t>(padded.c);
  for (size_t i = 0; i < problem.predictions.size(); ++i)
    predictions.set(i / own * all + i % own, problem.predictions[i]);
  const OwnedArray<std::byte> workspace(device().yolo_detect_workspace(problem.head, problem.shape));
  device().yolo_detect(problem.head, {(*predictions).data, problem.shape, type, padding > 0 ? padded.c : 0},
                       threshold, found, workspace);
}

Lists detect_on_cpu(const Problem& problem, float threshold) {
  Lists found(static_cast<size_t>(problem.shape.n));
  std::vector<float> predictions = problem.predictions;
  on_cpu().yolo_detect(problem.head, {predictions.data(), problem.shape, DType::f32}, threshold, found,
                       nullptr);
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
    EXPECT_NEAR(x, y, tested_device().formula_error * std::max(1.0f, std::abs(y)));
  }
}

/// The same detections in the same order.
void expect_equal_to_cpu(Problem problem, DType type, float threshold, int padding = 0) {
  for (float& prediction : problem.predictions) prediction = rounded(prediction, type);
  Lists gpu(static_cast<size_t>(problem.shape.n));
  detect_on_gpu(problem, type, threshold, gpu, padding);
  const Lists cpu = detect_on_cpu(problem, threshold);
  for (size_t image = 0; image < cpu.size(); ++image) {
    ASSERT_EQ(gpu[image].size(), cpu[image].size()) << "image " << image;
    for (size_t i = 0; i < cpu[image].size(); ++i) {
      SCOPED_TRACE(i);
      expect_same(gpu[image][i], cpu[image][i]);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(CudaYoloDetect, FindsWhatTheCpuFindsInItsOrder) {
  for (const int side : {1, 13, 19}) {
    for (const int images : {1, 17}) {
      for (const float threshold : {0.0f, 0.3f, 1.0f}) {
        if (images == 17 && side == 19 && threshold == 0.0f) continue;
        SCOPED_TRACE(std::to_string(side) + " " + std::to_string(images) + " " + std::to_string(threshold));
        Problem problem(images, side, side, 3);
        problem.head.scale_xy = 1.1f;
        problem.randomize(1, 2.0f);
        expect_equal_to_cpu(problem, DType::f32, threshold);
      }
    }
  }
}

TEST(CudaYoloDetect, FindsManyClassesInEveryPrecision) {
  Problem problem(2, 13, 11, 81);
  problem.head.new_coords = true;
  problem.randomize(2, 2.0f);
  for (const DType type : compute_types()) expect_equal_to_cpu(problem, type, 0.6f);
}

TEST(CudaYoloDetect, PaddedChannelsChangeNothing) {
  for (const int classes : {1, 80}) {
    Problem problem(3, 13, 11);
    problem.use_all_anchors(classes);
    problem.randomize(4, 2.0f);
    for (const DType type : compute_types())
      expect_equal_to_cpu(problem, type, 0.6f, 8 - problem.shape.c % 8);
  }
}

TEST(CudaYoloDetect, KeepsTheBestOfTooManyJustAsTheCpuDoes) {
  Problem problem(3, 19, 19, 20);  // 14 440 candidates an image
  problem.randomize(3, 1.0f);
  // The second image has few, and the third very many of the same score.
  const size_t image = problem.predictions.size() / 3;
  for (size_t i = image; i < 2 * image; ++i) problem.predictions[i] -= 4;
  for (size_t i = 2 * image; i < 3 * image; ++i) problem.predictions[i] = i % 100 == 0 ? 1.0f : 0.5f;
  const Lists cpu = detect_on_cpu(problem, 0.0f);
  EXPECT_EQ(cpu[0].size(), max_candidates);
  EXPECT_EQ(cpu[2].size(), max_candidates);
  expect_equal_to_cpu(problem, DType::f32, 0.0f);
  expect_equal_to_cpu(problem, DType::f32, 0.001f);
}

TEST(CudaYoloDetect, AppendsToWhatOtherHeadsFoundAndMissesNaN) {
  Problem problem(1, 2, 2, 1);
  std::fill(problem.predictions.begin(), problem.predictions.end(), -20.0f);
  problem.predictions[problem.index(0, 1, 0, 1, 4)] = problem.predictions[problem.index(0, 1, 0, 1, 5)] = 5;
  problem.predictions[problem.index(0, 0, 1, 0, 4)] = NAN;
  problem.predictions[problem.index(0, 1, 1, 0, 4)] = 5;
  problem.predictions[problem.index(0, 1, 1, 0, 5)] = NAN;
  Lists found(1);
  for (const size_t expected : {1u, 2u}) {
    detect_on_gpu(problem, DType::f32, 0.5f, found);
    EXPECT_EQ(found[0].size(), expected);
  }
}

}  // namespace
}  // namespace brightnet::testing
