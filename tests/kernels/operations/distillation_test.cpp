// The losses against a teacher: values in fp64, gradients against finite differences.
#include "kernels/distillation.h"

#include "tests/kernels/reference.h"
#include "tests/kernels/yolo_reference.h"

namespace brightnet::testing {
namespace {

YoloHead head_of(const std::vector<Anchor>& anchors, int classes) {
  YoloHead head;
  head.classes = classes;
  head.input_width = 160;
  head.input_height = 128;
  head.anchor_count = head.mask_count = static_cast<int>(anchors.size());
  for (int i = 0; i < head.mask_count; ++i) {
    head.anchors[i] = anchors[static_cast<size_t>(i)];
    head.mask[i] = i;
  }
  return head;
}

/// A student's and a teacher's predictions, and a call of the loss on them.
struct Taught {
  explicit Taught(const YoloHead& student_head, const YoloHead& teacher_head, DType type = DType::f32)
      : heads(pair_heads(student_head, teacher_head)),
        student({2, 3, 4, student_head.channels()}, type),
        teacher({2, 3, 4, teacher_head.channels()}, type),
        gradient(student.shape(), type),
        workspace(distillation_workspace(student.shape())),
        totals(std::vector<LossTotals>(1)) {
    student.randomize(7);  // no edge of a box is on one of its teacher's, where an IoU has a kink
    teacher.randomize(2);
    gradient.fill(0);
  }

  /// The loss; its gradient is added to `gradient`.
  double run() {
    totals.set({LossTotals{}});
    device().distill_predictions(heads, {.student = *student,
                                         .teacher = *teacher,
                                         .gradient = *gradient,
                                         .weight = weight,
                                         .scale = {.constant = 0.5f, .dynamic = dynamic},
                                         .totals = totals,
                                         .workspace = workspace});
    return totals.get()[0].distillation;
  }

  DistilledHeads heads;
  OwnedTensor student, teacher, gradient;
  OwnedArray<std::byte> workspace;
  OwnedArray<LossTotals> totals;
  float weight = 1;
  const float* dynamic = nullptr;
};

const std::vector<Anchor> small_anchors{{40, 30}, {70, 90}}, other_anchors{{75, 80}, {20, 20}, {36, 40}};

double probability(double logit) {
  return 1 / (1 + std::exp(-logit));
}

double divergence_of(double logit, double teacher) {
  const double p = probability(logit), q = probability(teacher);
  return q * std::log(q / p) + (1 - q) * std::log((1 - q) / (1 - p));
}

TEST(Distillation, AnchorsAreTaughtByTheMostAlike) {
  const DistilledHeads heads = pair_heads(head_of(small_anchors, 3), head_of(other_anchors, 3));
  EXPECT_EQ(heads.slot[0], 2);
  EXPECT_EQ(heads.slot[1], 0);
  EXPECT_NEAR(heads.alike[0], 36.0 * 30 / (40 * 30 + 36 * 40 - 36 * 30), 1e-6);
  EXPECT_FLOAT_EQ(pair_heads(head_of(small_anchors, 3), head_of(small_anchors, 3)).alike[1], 1);
}

TEST(Distillation, ClassesCountByTheTeachersObjectness) {
  YoloHead head = head_of(small_anchors, 3);
  head.box_weight = 0;
  head.objectness_weight = 0.7f;
  head.class_weight = 0.4f;
  Taught taught(head, head_of(other_anchors, 3));
  taught.weight = 1.5f;
  double expected = 0;
  for (size_t cell = 0; cell < taught.student.shape().pixels(); ++cell) {
    for (int slot = 0; slot < 2; ++slot) {
      const size_t own = (cell * 2 + static_cast<size_t>(slot)) * 8;
      const size_t other = (cell * 3 + static_cast<size_t>(taught.heads.slot[slot])) * 8;
      const double seen = probability(taught.teacher[other + 4]);
      double loss = 0.7 * divergence_of(taught.student[own + 4], taught.teacher[other + 4]);
      for (size_t k = 5; k < 8; ++k)
        loss += 0.4 * seen * divergence_of(taught.student[own + k], taught.teacher[other + k]);
      expected += 1.5 * taught.heads.alike[slot] * loss;
    }
  }
  EXPECT_NEAR(taught.run(), expected, 1e-4 * expected);
}

/// The box of the prediction whose numbers begin at `at`, for a head of scale_xy 1.
reference::Box64 box_at(const OwnedTensor& predictions, size_t at, size_t cell, const Anchor& anchor) {
  const auto column = static_cast<double>(cell % 4), row = static_cast<double>(cell / 4 % 3);
  return {(probability(predictions[at]) + column) / 4, (probability(predictions[at + 1]) + row) / 3,
          anchor.w * std::exp(predictions[at + 2]) / 160, anchor.h * std::exp(predictions[at + 3]) / 128};
}

TEST(Distillation, BoxesCountByTheTeachersObjectnessAndByHowAlikeTheAnchorsAre) {
  YoloHead head = head_of(small_anchors, 3);
  head.box_weight = 2.5f;
  head.objectness_weight = head.class_weight = 0;
  Taught taught(head, head_of(other_anchors, 3));
  taught.weight = 1.5f;
  double expected = 0;
  for (size_t cell = 0; cell < taught.student.shape().pixels(); ++cell) {
    for (size_t slot = 0; slot < 2; ++slot) {
      const auto of_teacher = static_cast<size_t>(taught.heads.slot[slot]);
      const size_t own = (cell * 2 + slot) * 8, other = (cell * 3 + of_teacher) * 8;
      const double loss =
          reference::box_loss(IouKind::ciou, box_at(taught.student, own, cell, small_anchors[slot]),
                              box_at(taught.teacher, other, cell, other_anchors[of_teacher]), 4, 3);
      expected += 1.5 * 2.5 * taught.heads.alike[slot] * probability(taught.teacher[other + 4]) * loss;
    }
  }
  EXPECT_NEAR(taught.run(), expected, 1e-4 * expected);
}

TEST(Distillation, TheScaleInMemoryMultipliesTheGradientOfPredictionsAlone) {
  Taught taught(head_of(small_anchors, 3), head_of(other_anchors, 3));
  const double loss = taught.run();
  std::vector<double> expected = taught.gradient.values();
  for (double& value : expected) value *= 64;
  const OwnedArray<float> dynamic(std::vector<float>{64});
  taught.dynamic = dynamic;
  taught.gradient.fill(0);
  EXPECT_EQ(taught.run(), loss);
  expect_near(taught.gradient, expected, 1e-6, 0);
}

TEST(Distillation, GradientOfPredictionsEqualsFiniteDifferences) {
  for (const bool new_coords : {false, true}) {
    YoloHead student = head_of(small_anchors, 3), teacher = head_of(other_anchors, 3);
    student.box_weight = 2.5f;
    student.new_coords = new_coords;
    student.scale_xy = teacher.scale_xy = 1.1f;
    Taught taught(student, teacher);
    taught.weight = 0.8f;
    taught.run();
    const std::vector<double> gradient = taught.gradient.values();
    constexpr double step = 1e-3;
    for (size_t i = 0; i < gradient.size(); i += 13) {  // every number of a prediction, in some
      const double middle = taught.student[i];
      taught.student.set(i, middle + step);
      const double width = taught.student[i] - middle, above = taught.run();
      taught.student.set(i, middle - step);
      const double below = taught.run();
      taught.student.set(i, middle);
      const double expected = 0.5 * (above - below) / (2 * width);
      EXPECT_NEAR(gradient[i], expected, 0.01 * std::abs(expected) + 3e-3)
          << "number " << i % 8 << " at " << i;
    }
  }
}

TEST(Distillation, AddsNothingToTheGradientOfItsTeacher) {
  YoloHead head = head_of(small_anchors, 3);
  for (const float box_weight : {1.0f, 0.0f}) {
    head.box_weight = box_weight;
    Taught taught(head, head);
    taught.student.set(taught.teacher.values());
    EXPECT_NEAR(taught.run(), 0, 1e-4);
  }
  for (const DType type : compute_types()) {
    Taught taught(head, head, type);  // without boxes: where two coincide, the loss of an IoU has a kink
    taught.student.set(taught.teacher.values());
    taught.gradient.fill(0.25);
    taught.run();
    expect_near(taught.gradient, std::vector<double>(taught.gradient.count(), 0.25), rounding(type), 1e-5);
  }
}

TEST(Distillation, PredictionsOfEveryTypeAreThoseOfFp32Rounded) {
  const YoloHead student = head_of(small_anchors, 3), teacher = head_of(other_anchors, 3);
  for (const DType type : compute_types()) {
    Taught narrow(student, teacher, type), wide(student, teacher);
    wide.student.set(narrow.student.values());
    wide.teacher.set(narrow.teacher.values());
    EXPECT_NEAR(narrow.run(), wide.run(), 1e-4);
    expect_near(narrow.gradient, wide.gradient.values(), rounding(type), 1e-6);
  }
}

TEST(Distillation, ABoxThatIsNoneTeachesNothing) {
  const YoloHead head = head_of(small_anchors, 3);
  Taught taught(head, head);
  for (size_t i = 0; i < taught.teacher.count(); i += 8) taught.teacher.set(i, std::nan(""));
  EXPECT_TRUE(std::isfinite(taught.run()));
  for (const double value : taught.gradient.values()) ASSERT_TRUE(std::isfinite(value));
}

TEST(Distillation, ATeachersBoxLargerThanTheImageDoesNotRewardTheSquaredError) {
  YoloHead head = head_of({{160, 128}}, 3);
  head.iou_kind = IouKind::mse;
  head.objectness_weight = head.class_weight = 0;
  Taught taught(head, head);
  const auto loss_at = [&](double size_logit) {
    for (size_t i = 0; i < taught.student.count(); i += 8) {
      for (const size_t side : {i + 2, i + 3}) {
        taught.teacher.set(side, 1);  // e times the image's side
        taught.student.set(side, size_logit);
      }
    }
    return taught.run();
  };
  const double nearest = loss_at(0);
  EXPECT_GT(nearest, 0) << "the centres differ";
  EXPECT_GT(loss_at(-1), nearest);
  EXPECT_GT(loss_at(1), nearest);
}

TEST(Distillation, FeaturesLoseTheirDistanceAsAShareOfTheTeachers) {
  for (const DType type : compute_types()) {
    for (const Shape& shape : {Shape{3, 13, 5, 24}, Shape{1, 1, 13, 64}, Shape{5, 5, 3, 33}}) {
      OwnedTensor student(shape, type), teacher(shape, type), gradient(shape, type);
      student.randomize(1);
      teacher.randomize(2);
      const auto images = static_cast<size_t>(shape.n), of_image = shape.count() / images;
      // The last image's teacher has seen nothing.
      for (size_t i = shape.n > 1 ? (images - 1) * of_image : shape.count(); i < shape.count(); ++i)
        teacher.set(i, 0);
      double loss = 0;
      std::vector<double> expected(shape.count());
      for (size_t image = 0; image < images; ++image) {
        double error = 0, squares = 0;
        for (size_t i = image * of_image; i < (image + 1) * of_image; ++i) {
          error += std::pow(student[i] - teacher[i], 2);
          squares += std::pow(teacher[i], 2);
        }
        if (squares > 0) loss += 3 * error / squares;
        for (size_t i = image * of_image; i < (image + 1) * of_image; ++i)
          expected[i] = squares > 0 ? 3 * 0.5 * 2 * (student[i] - teacher[i]) / squares : 0;
      }
      const OwnedArray<std::byte> workspace(distillation_workspace(shape));
      const OwnedArray<LossTotals> totals(std::vector<LossTotals>(1));
      const OwnedArray<float> dynamic(std::vector<float>{0.25f});
      device().distill_features({.student = *student,
                                 .teacher = *teacher,
                                 .gradient = *gradient,
                                 .weight = 3,
                                 .scale = {.constant = 2, .dynamic = dynamic},
                                 .totals = totals,
                                 .workspace = workspace});
      EXPECT_NEAR(totals.get()[0].distillation, loss, 1e-5 * loss);
      expect_near(gradient, expected, 2 * rounding(type), 1e-7);
    }
  }
}

TEST(Distillation, RefusesPredictionsOfOtherHeads) {
  Taught taught(head_of(small_anchors, 3), head_of(other_anchors, 3));
  taught.heads.teacher.classes = 4;
  EXPECT_THROW(taught.run(), std::logic_error);
}

}  // namespace
}  // namespace brightnet::testing
