// The GPU's YOLO loss against the CPU's, which tests/kernels/yolo_loss_test.cpp compares with an fp64
// reference and with finite differences.
#include <cmath>

#include "tests/kernels/reference.h"
#include "tests/kernels/yolo_problem.h"

namespace brightnet::testing {
namespace {

/// Truths of all sizes all over the images, some of them in one cell and some of no use.
void scatter_truths(Problem& problem, int per_image, uint64_t seed) {
  Random random(seed, Purpose::test);
  for (auto& image : problem.truths) {
    for (int i = 0; i < per_image; ++i) {
      const Box box{random.uniform(), random.uniform(), random.uniform(0.03f, 0.6f),
                    random.uniform(0.03f, 0.8f)};
      image.push_back({box, static_cast<int>(random.below(problem.head.classes))});
    }
    if (per_image < 2) continue;
    Truth twin = image.front();
    twin.box.w *= 0.97f;
    twin.class_id = (twin.class_id + 1) % problem.head.classes;
    image.push_back(twin);
    // Two of one size in one cell, of which the first wins, and two that teach nothing.
    image.insert(image.end(), {{{0.51f, 0.52f, 0.2f, 0.3f}, 0},
                               {{0.5f, 0.5f, 0.2f, 0.3f}, 1},
                               {{0.5f, 0.5f, 0.0f, 0.3f}, 0},
                               {{NAN, 0.5f, 0.2f, 0.3f}, 0}});
  }
}

struct Result {
  YoloLoss loss;
  LossTotals totals;
  std::vector<double> gradient;
};

/// The loss on the GPU; class_weights are a host pointer, as the CPU takes them. `padding`: channels beyond the head's.
Result run_on_gpu(const Problem& problem, DType type, float loss_scale, int padding = 0) {
  YoloHead head = problem.head;
  std::vector<Truth> list;
  std::vector<int> offsets{0};
  for (const auto& image : problem.truths) {
    list.insert(list.end(), image.begin(), image.end());
    offsets.push_back(static_cast<int>(list.size()));
  }
  Shape padded = problem.shape;
  padded.c += padding;
  OwnedTensor predictions(padded, type);
  const OwnedTensor gradient(padded, type);
  const auto own = static_cast<size_t>(problem.shape.c), all = static_cast<size_t>(padded.c);
  for (size_t i = 0; i < problem.predictions.size(); ++i)
    predictions.set(i / own * all + i % own, problem.predictions[i]);
  const auto without_padding = [&](const OwnedTensor& tensor) {
    return Tensor{(*tensor).data, problem.shape, type, padding > 0 ? padded.c : 0};
  };
  const OwnedArray<Truth> truths(list);
  const OwnedArray<int> device_offsets(offsets);
  const OwnedArray<float> scale(std::vector<float>{loss_scale});
  const OwnedArray<float> weights(
      head.class_weights ? std::vector<float>(head.class_weights, head.class_weights + head.classes)
                         : std::vector<float>{});
  if (head.class_weights) head.class_weights = weights;
  const OwnedArray<YoloLoss> loss(std::vector<YoloLoss>{{NAN, NAN, NAN, NAN, NAN}});
  const OwnedArray<LossTotals> totals(std::vector<LossTotals>{{1, 2, 3, 4, 5, 6}});
  const OwnedArray<std::byte> workspace(device().yolo_workspace(head, problem.shape));
  device().yolo_loss(head, {.predictions = without_padding(predictions),
                            .gradient = without_padding(gradient),
                            .truths = {truths, device_offsets},
                            .scale = {problem.scale.constant, scale},
                            .loss = loss,
                            .totals = totals,
                            .workspace = workspace});
  Result result{loss.get()[0], totals.get()[0], {}};
  for (size_t i = 0; i < gradient.count(); ++i) {
    if (i % all < own) {
      result.gradient.push_back(gradient[i]);
    } else {
      EXPECT_EQ(gradient[i], 0) << "padding, element " << i;
    }
  }
  return result;
}

void expect_equal_to_cpu(Problem problem, DType type, int padding = 0) {
  constexpr float loss_scale = 8;
  for (float& prediction : problem.predictions) prediction = rounded(prediction, type);
  const Result gpu = run_on_gpu(problem, type, loss_scale, padding);
  problem.scale.dynamic = &loss_scale;
  problem.run();
  const double formula_error = tested_device().formula_error;
  const auto near = [=](float a, float b) {
    return std::fabs(a - b) <= 10 * formula_error * (1 + std::fabs(b));
  };
  EXPECT_PRED2(near, gpu.loss.box, problem.loss.box);
  EXPECT_PRED2(near, gpu.loss.objectness, problem.loss.objectness);
  EXPECT_PRED2(near, gpu.loss.classes, problem.loss.classes);
  EXPECT_PRED2(near, gpu.loss.iou, problem.loss.iou);
  EXPECT_EQ(gpu.loss.assigned, problem.loss.assigned);
  EXPECT_EQ(gpu.totals.box, 1.0 + gpu.loss.box);
  EXPECT_EQ(gpu.totals.objectness, 2.0 + gpu.loss.objectness);
  EXPECT_EQ(gpu.totals.classes, 3.0 + gpu.loss.classes);
  EXPECT_EQ(gpu.totals.iou, 4.0 + gpu.loss.iou);
  EXPECT_EQ(gpu.totals.assigned, 5.0 + gpu.loss.assigned);
  EXPECT_EQ(gpu.totals.images, 6);
  int wrong = 0;
  for (size_t i = 0; i < problem.gradient.size() && wrong < 5; ++i) {
    const float expected = problem.gradient[i];
    const bool right = std::fabs(gpu.gradient[i] - expected) <=
                       formula_error + (100 * formula_error + rounding(type)) * std::fabs(expected);
    EXPECT_TRUE(right) << "logit " << i % problem.head.values() << " of prediction "
                       << i / problem.head.values() << ": " << gpu.gradient[i] << ", the CPU says "
                       << expected;
    wrong += !right;
  }
}

class CudaYoloLossOptions : public ::testing::TestWithParam<std::tuple<IouKind, bool>> {};

TEST_P(CudaYoloLossOptions, EqualsTheCpusWithAnyOptions) {
  const auto [kind, new_coords] = GetParam();
  const auto check = [kind = kind, new_coords = new_coords](const LossOptions& options) {
    SCOPED_TRACE(options.name);
    Problem problem(2, 3, 5);
    problem.head.iou_kind = kind;
    problem.head.new_coords = new_coords;
    problem.head.scale_xy = new_coords ? 2.0f : 1.05f;
    options.set(problem.head);
    problem.scale.constant = 0.25f;
    problem.randomize(11, 0.8f);
    scatter_truths(problem, 7, 5);
    expect_equal_to_cpu(problem, DType::f32);
  };
  for (const LossOptions& options : loss_option_sets) check(options);
  check({"MaxDelta", [](YoloHead& h) { h.max_delta = 0.02f, h.ignore_threshold = 1.0f; }});
}

std::string configuration_name(const ::testing::TestParamInfo<CudaYoloLossOptions::ParamType>& info) {
  return loss_kind_name(std::get<0>(info.param), std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(EveryKind, CudaYoloLossOptions,
                         ::testing::Combine(::testing::Values(IouKind::mse, IouKind::iou, IouKind::giou,
                                                              IouKind::diou, IouKind::ciou),
                                            ::testing::Bool()),
                         configuration_name);

TEST(CudaYoloLoss, EqualsTheCpusWithNoOneAndThreeHundredTruths) {
  for (const int side : {1, 13, 19}) {
    for (const int images : {1, 17}) {
      for (const int truths : {0, 1, 300}) {
        if (images == 17 && truths == 300 && side > 1) continue;
        SCOPED_TRACE(std::to_string(side) + " by " + std::to_string(side) + ", " + std::to_string(images) +
                     " images, " + std::to_string(truths) + " truths");
        Problem problem(images, side, side);
        problem.head.iou_threshold = 0.213f;
        problem.head.ignore_threshold = 0.5f;
        problem.randomize(21, 0.5f);
        scatter_truths(problem, truths, 22);
        if (images > 1) problem.truths[1].clear();
        expect_equal_to_cpu(problem, DType::f32);
      }
    }
  }
}

TEST(CudaYoloLoss, EqualsTheCpusInEveryPrecision) {
  Problem problem(3, 13, 13, 81);
  problem.head.iou_threshold = 0.213f;
  problem.randomize(31, 0.7f);
  scatter_truths(problem, 20, 32);
  for (const DType type : compute_types()) expect_equal_to_cpu(problem, type);
}

TEST(CudaYoloLoss, PaddedChannelsChangeNothingAndHaveNoGradient) {
  for (const int classes : {1, 2, 4, 80}) {
    for (const AssignmentKind assignment : {AssignmentKind::best_anchor, AssignmentKind::simota}) {
      Problem problem(3, 13, 11);
      problem.use_all_anchors(classes);
      problem.head.assignment = assignment;
      problem.head.iou_threshold = 0.213f;
      problem.head.ignore_threshold = 0.5f;
      problem.randomize(41, 0.7f);
      scatter_truths(problem, 9, 42);
      for (auto& image : problem.truths) {
        for (Truth& truth : image) truth.class_id %= classes;
      }
      for (const DType type : compute_types()) {
        SCOPED_TRACE(std::to_string(classes) + ' ' + std::string(enum_name(type)));
        expect_equal_to_cpu(problem, type, 8 - problem.shape.c % 8);
      }
    }
  }
}

TEST(CudaYoloLoss, ATruthThresholdCountsWhereNoneIsIgnored) {
  Problem problem;
  problem.head.ignore_threshold = 1;
  problem.head.truth_threshold = 0.9f;
  // The third anchor's prediction of row 1, column 3, lies on a truth whose centre is in the cell before.
  problem.truths[0] = {{{2.9999f / 5, 1.5f / 4, 70 / 160.0f, 90 / 128.0f}, 1}};
  const size_t near = problem.index(0, 1, 3, 1);
  problem.predictions[near] = -9;
  EXPECT_LT(run_on_gpu(problem, DType::f32, 1).gradient[near + 4], 0) << "it is an object's";
  expect_equal_to_cpu(problem, DType::f32);
}

TEST(CudaYoloLoss, LetsTheGradientOverflowWhereItsTypeEnds) {
  Problem problem(1, 3, 3);
  problem.predictions[problem.index(0, 1, 1, 0, 4)] = 5;
  const Result gpu = run_on_gpu(problem, DType::f16, 131072);
  EXPECT_TRUE(std::isinf(gpu.gradient[problem.index(0, 1, 1, 0, 4)]));
  EXPECT_TRUE(std::isfinite(gpu.loss.objectness));
}

TEST(CudaYoloLoss, DoesNotHideANaN) {
  Problem problem;
  problem.predictions[problem.index(0, 2, 3, 0, 4)] = NAN;
  const Result gpu = run_on_gpu(problem, DType::f32, 1);
  EXPECT_TRUE(std::isnan(gpu.loss.objectness));
  EXPECT_TRUE(std::isnan(gpu.gradient[problem.index(0, 2, 3, 0, 4)]));
}

}  // namespace
}  // namespace brightnet::testing
