// IoUs and the losses made of them: values worked out by hand, and derivatives against finite differences of
// the fp64 reference.
#include "kernels/math/iou.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/enum_names.h"
#include "core/random.h"
#include "kernels/yolo.h"
#include "tests/kernels/yolo_reference.h"

namespace brightnet {
namespace {

const std::vector<IouKind> all_kinds = enum_values<IouKind>();

float value(IouKind kind, const Box& a, const Box& b) {
  return 1.0f - iou_loss(kind, a, b).loss;
}

TEST(Iou, KindsHaveTheNamesOfModelsAndOfDarknet) {
  EXPECT_EQ(enum_names<IouKind>(), (std::vector<std::string>{"mse", "iou", "giou", "diou", "ciou"}));
  EXPECT_EQ(enum_names<NmsKind>(), (std::vector<std::string>{"greedy", "diou"}));
}

// [0.3, 0.7]² and [0.4, 0.8]² share 0.09 of 0.23; both are enclosed by a square of 0.5; centres
// are √0.02 apart.
TEST(Iou, OfTwoShiftedSquares) {
  const Box a{0.5f, 0.5f, 0.4f, 0.4f}, b{0.6f, 0.6f, 0.4f, 0.4f};
  EXPECT_NEAR(iou(a, b), 9.0 / 23, 1e-6);
  EXPECT_NEAR(value(IouKind::iou, a, b), 9.0 / 23, 1e-6);
  EXPECT_NEAR(value(IouKind::giou, a, b), 9.0 / 23 - 0.02 / 0.25, 1e-6);
  EXPECT_NEAR(value(IouKind::diou, a, b), 9.0 / 23 - 0.02 / 0.5, 1e-6);
  EXPECT_NEAR(value(IouKind::ciou, a, b), 9.0 / 23 - 0.02 / 0.5, 1e-6) << "the aspects are equal";
}

// 0.4 × 0.2 across 0.2 × 0.4: they share 0.04 of 0.12 and are enclosed by 0.16. The aspects' angles differ by
// atan 2 − atan ½ = 0.643501, so v = 0.167826 and α = v / (2/3 + v) = 0.201112.
TEST(Iou, OfACross) {
  const Box a{0.5f, 0.5f, 0.4f, 0.2f}, b{0.5f, 0.5f, 0.2f, 0.4f};
  EXPECT_NEAR(iou(a, b), 1.0 / 3, 1e-6);
  EXPECT_NEAR(value(IouKind::giou, a, b), 1.0 / 12, 1e-6);
  EXPECT_NEAR(value(IouKind::diou, a, b), 1.0 / 3, 1e-6);
  EXPECT_NEAR(value(IouKind::ciou, a, b), 1.0 / 3 - 0.201112 * 0.167826, 1e-6);
  EXPECT_NEAR(size_iou(a, b), 1.0 / 3, 1e-6);
}

// Squares of 0.2 in opposite corners, enclosed by [0.1, 0.9]².
TEST(Iou, OfBoxesApart) {
  const Box a{0.2f, 0.2f, 0.2f, 0.2f}, b{0.8f, 0.8f, 0.2f, 0.2f};
  EXPECT_EQ(iou(a, b), 0);
  EXPECT_NEAR(value(IouKind::giou, a, b), -0.56 / 0.64, 1e-6);
  EXPECT_NEAR(value(IouKind::diou, a, b), -0.72 / 1.28, 1e-6);
  const BoxLoss loss = iou_loss(IouKind::iou, a, b);
  EXPECT_EQ(loss.gradient.x, 0) << "a plain IoU does not say where to go";
  EXPECT_LT(iou_loss(IouKind::giou, a, b).gradient.x, 0);
  EXPECT_LT(iou_loss(IouKind::diou, a, b).gradient.x, 0);
}

TEST(Iou, OfABoxWithItselfIsOneAndCostsNothing) {
  const Box box{0.37f, 0.61f, 0.23f, 0.11f};
  EXPECT_FLOAT_EQ(iou(box, box), 1.0f);
  for (IouKind kind : all_kinds) {
    const BoxLoss loss = box_loss(kind, box, box, 13, 13);
    EXPECT_NEAR(loss.loss, 0, 1e-6);
    EXPECT_TRUE(std::isfinite(loss.gradient.w) && std::isfinite(loss.gradient.x));
  }
}

TEST(Iou, OfBoxesWithoutAreaIsZero) {
  EXPECT_EQ(iou(Box{0.5f, 0.5f, 0, 0}, Box{0.5f, 0.5f, 0, 0}), 0);
  EXPECT_EQ(size_iou(Box{}, Box{}), 0);
  EXPECT_EQ(iou(Box{0.5f, 0.5f, 0, 0.3f}, Box{0.5f, 0.5f, 0.2f, 0.2f}), 0);
}

TEST(BoxLoss, GradientEqualsFiniteDifferencesForEveryKind) {
  Random random(1, Purpose::test);
  for (int round = 0; round < 500; ++round) {
    const auto draw = [&] {
      return Box{random.uniform(0.2f, 0.8f), random.uniform(0.2f, 0.8f), random.uniform(0.05f, 0.6f),
                 random.uniform(0.05f, 0.6f)};
    };
    const Box p = draw(), truth = draw();
    for (IouKind kind : all_kinds) {
      const BoxLoss loss = box_loss(kind, p, truth, 13, 9);
      const auto at = [&](int k, double step) {
        reference::Box64 moved(p);
        (k == 0 ? moved.x : k == 1 ? moved.y : k == 2 ? moved.w : moved.h) += step;
        return reference::box_loss(kind, moved, reference::Box64(truth), 13, 9);
      };
      EXPECT_NEAR(loss.loss, at(0, 0), 1e-5 * (1 + at(0, 0)));
      const float gradient[4] = {loss.gradient.x, loss.gradient.y, loss.gradient.w, loss.gradient.h};
      for (int k = 0; k < 4; ++k) {
        const double expected = (at(k, 1e-7) - at(k, -1e-7)) / 2e-7;
        ASSERT_NEAR(gradient[k], expected, 2e-4 + 2e-4 * std::fabs(expected))
            << "kind " << static_cast<int>(kind) << ", coordinate " << k << ", round " << round;
      }
    }
  }
}

// α is part of the loss, so it is part of the derivative: with the paper's constant α the derivative by the
// width of the cross above would be another.
TEST(BoxLoss, DifferentiatesCiousAlpha) {
  const Box p{0.5f, 0.5f, 0.41f, 0.21f}, truth{0.5f, 0.5f, 0.2f, 0.4f};
  const double pi = std::numbers::pi, w = 0.41, h = 0.21;
  const double angle = std::atan(w / h) - std::atan(0.5), v = 4 / (pi * pi) * angle * angle;
  const double alpha = v / (1 - reference::iou(reference::Box64(p), reference::Box64(truth)) + v);
  const double constant_alpha =
      iou_loss(IouKind::diou, p, truth).gradient.w + alpha * 8 / (pi * pi) * angle * h / (w * w + h * h);
  const auto at = [&](double width) {
    return reference::box_loss(IouKind::ciou, {0.5, 0.5, width, h}, reference::Box64(truth), 1, 1);
  };
  const double exact = (at(w + 1e-7) - at(w - 1e-7)) / 2e-7;
  EXPECT_NEAR(iou_loss(IouKind::ciou, p, truth).gradient.w, exact, 1e-3);
  EXPECT_GT(std::fabs(exact - constant_alpha), 0.01);
}

}  // namespace
}  // namespace brightnet
