// Decoding and detection: boxes against the formulas in fp64, and which predictions become detections.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.h"
#include "kernels/math/box.h"
#include "tests/kernels/on_cpu.h"

namespace brightnet {
namespace {

YoloHead head_of(int classes) {
  YoloHead head;
  head.classes = classes;
  head.input_width = 416;
  head.input_height = 320;
  head.anchor_count = 3;
  head.anchors[0] = {10, 14};
  head.anchors[1] = {81, 82};
  head.anchors[2] = {135, 169};
  head.mask_count = 2;
  head.mask[0] = 1;
  head.mask[1] = 2;
  return head;
}

struct Predictions {
  YoloHead head;
  Shape shape;
  std::vector<float> values;

  explicit Predictions(const YoloHead& h, int images = 1, int rows = 10, int columns = 13)
      : head(h), shape{images, rows, columns, h.channels()}, values(shape.count(), -20.0f) {}

  float* at(int image, int row, int column, int slot) {
    return values.data() +
           (((static_cast<size_t>(image) * shape.h + row) * shape.w + column) * head.mask_count + slot) *
               head.values();
  }

  std::vector<std::vector<Detection>> detect(float threshold) {
    std::vector<std::vector<Detection>> detections(shape.n);
    on_cpu().yolo_detect(head, {values.data(), shape, DType::f32}, threshold, detections, nullptr);
    return detections;
  }
};

double sigmoid(double t) {
  return 1 / (1 + std::exp(-t));
}

TEST(YoloDetect, DecodesExponentialSizes) {
  Predictions p(head_of(2));
  p.head.scale_xy = 1.05f;
  const float logits[] = {0.3f, -0.7f, 0.4f, -0.2f, 2.0f, -3.0f, 1.5f};
  std::copy(std::begin(logits), std::end(logits), p.at(0, 4, 7, 1));
  const auto found = p.detect(0.5f);
  ASSERT_EQ(found[0].size(), 1u);
  const Detection& d = found[0][0];
  EXPECT_NEAR(d.box.x, (sigmoid(0.3) * 1.05 - 0.025 + 7) / 13, 1e-6);
  EXPECT_NEAR(d.box.y, (sigmoid(-0.7) * 1.05 - 0.025 + 4) / 10, 1e-6);
  EXPECT_NEAR(d.box.w, 135 * std::exp(0.4) / 416, 1e-6);
  EXPECT_NEAR(d.box.h, 169 * std::exp(-0.2) / 320, 1e-6);
  EXPECT_EQ(d.class_id, 1);
  EXPECT_NEAR(d.score, sigmoid(2.0) * sigmoid(1.5), 1e-6);
}

TEST(YoloDetect, DecodesSquaredSizes) {
  Predictions p(head_of(2));
  p.head.new_coords = true;
  p.head.scale_xy = 2.0f;
  const float logits[] = {0.3f, -0.7f, 0.4f, -0.2f, 2.0f, 2.5f, -3.0f};
  std::copy(std::begin(logits), std::end(logits), p.at(0, 9, 0, 0));
  const auto found = p.detect(0.5f);
  ASSERT_EQ(found[0].size(), 1u);
  const Box& box = found[0][0].box;
  EXPECT_NEAR(box.x, (sigmoid(0.3) * 2 - 0.5 + 0) / 13, 1e-6);
  EXPECT_NEAR(box.y, (sigmoid(-0.7) * 2 - 0.5 + 9) / 10, 1e-6);
  EXPECT_NEAR(box.w, 81 * std::pow(2 * sigmoid(0.4), 2) / 416, 1e-6);
  EXPECT_NEAR(box.h, 82 * std::pow(2 * sigmoid(-0.2), 2) / 320, 1e-6);
}

TEST(YoloDetect, GivesOneDetectionForEveryClassAboveTheThreshold) {
  Predictions p(head_of(3));
  float* t = p.at(0, 1, 1, 0);
  t[4] = 5, t[5] = 2, t[6] = -5, t[7] = 3;
  const auto found = p.detect(0.25f);
  ASSERT_EQ(found[0].size(), 2u);
  EXPECT_EQ(found[0][0].class_id, 0);
  EXPECT_EQ(found[0][1].class_id, 2);
}

TEST(YoloDetect, FindsExactlyWhatExceedsTheThreshold) {
  Predictions p(head_of(4), 2);
  Random random(3, Purpose::test);
  for (float& t : p.values) t = 3 * random.normal();
  for (float threshold : {0.0f, 0.001f, 0.05f, 0.25f, 0.5f, 0.9f, 0.999f, 1.0f}) {
    std::vector<size_t> expected(2);
    for (size_t i = 0; i < p.shape.pixels() * p.head.mask_count; ++i) {
      const float* t = p.values.data() + i * p.head.values();
      for (int c = 0; c < 4; ++c)
        expected[2 * i / (p.shape.pixels() * p.head.mask_count)] +=
            logistic(t[4]) * logistic(t[5 + c]) > threshold;
    }
    const auto found = p.detect(threshold);
    EXPECT_EQ(found[0].size(), expected[0]) << threshold;
    EXPECT_EQ(found[1].size(), expected[1]) << threshold;
    for (const Detection& d : found[0]) ASSERT_GT(d.score, threshold);
  }
}

TEST(YoloDetect, AppendsToWhatAnotherHeadFound) {
  Predictions p(head_of(1), 2);
  p.at(1, 0, 0, 0)[4] = p.at(1, 0, 0, 0)[5] = 9;
  std::vector<std::vector<Detection>> detections(2, std::vector<Detection>(3));
  on_cpu().yolo_detect(p.head, {p.values.data(), p.shape, DType::f32}, 0.5f, detections, nullptr);
  EXPECT_EQ(detections[0].size(), 3u);
  EXPECT_EQ(detections[1].size(), 4u);
}

TEST(YoloDetect, KeepsTheBestOfTooManyAndTheirOrder) {
  Predictions p(head_of(40), 2);  // 10 400 candidates an image
  Random random(6, Purpose::test);
  for (float& t : p.values) t = random.normal();
  std::vector<std::vector<Detection>> found(2);
  found[1].push_back({{}, -1, 2.0f});
  on_cpu().yolo_detect(p.head, {p.values.data(), p.shape, DType::f32}, 0.0f, found, nullptr);
  ASSERT_EQ(found[0].size(), max_candidates);
  ASSERT_EQ(found[1].size(), max_candidates + 1) << "what another head found stays";
  EXPECT_EQ(found[1][0].class_id, -1);
  float worst = 1;
  for (const Detection& d : found[0]) worst = std::min(worst, d.score);
  const auto better = p.detect(worst);
  ASSERT_EQ(better[0].size(), max_candidates - 1) << "no better one was left out";
  size_t at = 0;
  for (const Detection& d : better[0]) {
    if (found[0][at].score == worst) ++at;
    ASSERT_EQ(found[0][at].score, d.score);
    ASSERT_EQ(found[0][at++].class_id, d.class_id);
  }
}

TEST(YoloDetect, ReadsBFloat16) {
  Predictions p(head_of(2));
  Random random(4, Purpose::test);
  for (float& t : p.values) t = static_cast<float>(BFloat16(2 * random.normal()));
  std::vector<BFloat16> halves(p.values.size());
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = BFloat16(p.values[i]);
  const auto expected = p.detect(0.3f);
  std::vector<std::vector<Detection>> found(1);
  on_cpu().yolo_detect(p.head, {halves.data(), p.shape, DType::bf16}, 0.3f, found, nullptr);
  ASSERT_EQ(found[0].size(), expected[0].size());
  ASSERT_GT(found[0].size(), 0u);
  for (size_t i = 0; i < found[0].size(); ++i) {
    EXPECT_FLOAT_EQ(found[0][i].box.w, expected[0][i].box.w);
    EXPECT_FLOAT_EQ(found[0][i].score, expected[0][i].score);
  }
}

TEST(YoloDetect, ExtremeLogitsGiveFiniteBoxesAndNaNNone) {
  for (bool new_coords : {false, true}) {
    Predictions p(head_of(1));
    p.head.new_coords = new_coords;
    float sign = 1;
    for (float& t : p.values) t = (sign = -sign) * 1e4f;
    for (size_t i = 0; i < p.values.size(); i += 6) p.values[i + 4] = p.values[i + 5] = 1e4f;
    p.at(0, 0, 0, 0)[4] = std::numeric_limits<float>::quiet_NaN();
    const auto found = p.detect(0.5f);
    ASSERT_EQ(found[0].size(), p.shape.pixels() * 2 - 1);
    for (const Detection& d : found[0]) {
      ASSERT_TRUE(std::isfinite(d.box.x) && std::isfinite(d.box.w) && d.box.w > 0 && d.box.h > 0);
      ASSERT_LE(d.score, 1.0f);
    }
  }
}

TEST(BoxDecoding, DerivativesEqualFiniteDifferences) {
  Random random(5, Purpose::test);
  for (int round = 0; round < 200; ++round) {
    const bool new_coords = round % 2;
    const double t = 2.5 * random.normal(), s = 1.2, grid = 13, anchor = 0.3;
    const auto size = [&](double x) {
      return anchor * (new_coords ? std::pow(2 * sigmoid(x), 2) : std::exp(x));
    };
    const double by_size = (size(t + 1e-6) - size(t - 1e-6)) / 2e-6;
    const double by_center = s * (sigmoid(t + 1e-6) - sigmoid(t - 1e-6)) / 2e-6 / grid;
    const float logit = static_cast<float>(t);
    const float w = decode_size(logit, 0.3f, new_coords);
    EXPECT_NEAR(size_derivative(logit, w, new_coords), by_size, 1e-5 * (1 + std::fabs(by_size)));
    EXPECT_NEAR(center_derivative(logit, 13.0f, 1.2f), by_center, 1e-6);
  }
  for (const bool new_coords : {false, true}) {
    EXPECT_EQ(size_derivative(size_logit_limit + 1, 1.0f, new_coords), 0);
    EXPECT_EQ(size_derivative(-size_logit_limit - 1, 1.0f, new_coords), 0);
  }
  EXPECT_EQ(decode_size(1e4f, 1.0f, false), decode_size(size_logit_limit, 1.0f, false));
}

}  // namespace
}  // namespace brightnet
