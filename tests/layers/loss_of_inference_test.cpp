// The loss of an inference network's predictions, against a plain one in double.
#include <gtest/gtest.h>

#include "core/random.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/kernels/yolo_reference.h"
#include "tests/layers/models.h"

namespace brightnet {
namespace {

using testing::BoundNetwork;
using testing::model_of;

constexpr const char* two_heads = R"(
activation: leaky
head: {anchors: [[10, 12], [24, 20], [40, 40]], class_weights: [1, 3, 0.5], label_smoothing: 0.1}
layers:
  - conv: {filters: 8, size: 3, stride: 4}
  - conv: {name: fine, filters: 8, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
  - conv: {from: fine, filters: 8, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [2]}
)";
constexpr int side = 64, batch = 3;

/// A batch's pixels and ground truth, for as many of its images as are real.
struct Input {
  explicit Input(int images) : pixels(batch * side * side * 3), truths(static_cast<size_t>(images)) {
    Random random(3, Purpose::test);
    for (auto& pixel : pixels) pixel = static_cast<uint8_t>(random.below(256));
    for (auto& of_image : truths) {
      for (int i = 0; i < 3; ++i)
        of_image.push_back(
            {{random.uniform(0.3f, 0.7f), random.uniform(0.3f, 0.7f), random.uniform(0.1f, 0.5f), 0.3f},
             static_cast<int>(random.below(3))});
    }
  }
  std::vector<uint8_t> pixels;
  std::vector<std::vector<Truth>> truths;
};

/// Of the predictions that the network made, in double, over the heads from layer `first` on.
reference::Sums expected_loss(const Network& network, const Model& model, const Input& input,
                              size_t first = 0) {
  reference::Sums sum;
  for (size_t i = first; i < model.layers.size(); ++i) {
    const auto* yolo = std::get_if<YoloAttributes>(&model.layers[i].attributes);
    if (!yolo) continue;
    YoloHead head = yolo->head;
    head.input_width = network.setup().width;
    head.input_height = network.setup().height;
    head.class_weights = yolo->class_weights.data();
    const Tensor raw = network.output(static_cast<int>(i));
    std::vector<double> values(raw.count() / batch * input.truths.size());
    for (size_t k = 0; k < values.size(); ++k)
      values[k] = raw.type == DType::f32 ? raw.as<float>()[k] : static_cast<float>(raw.as<BFloat16>()[k]);
    const reference::Loss loss(head, static_cast<int>(input.truths.size()), raw.shape.h, raw.shape.w,
                               input.truths);
    const reference::Sums of_head = loss.sums(values, loss.targets(values));
    sum.box += of_head.box;
    sum.objectness += of_head.objectness;
    sum.classes += of_head.classes;
  }
  return sum;
}

TEST(LossOfInference, IsTheLossOfTheImagesThatHaveGroundTruth) {
  const auto backend = make_cpu_backend();
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    for (const int images : {batch, 1}) {
      BoundNetwork bound(*backend, model_of(two_heads, 3), batch, side, precision, Mode::infer, false, true);
      const Input input(images);
      bound.network().set_pixels(input.pixels.data());
      bound.network().infer();
      const auto before = bound.network().detections(0.2f);
      const std::vector<YoloLoss> losses = bound.network().loss(input.truths);
      ASSERT_EQ(losses.size(), static_cast<size_t>(images));
      YoloLoss loss;
      for (const YoloLoss& of_image : losses) loss += of_image;
      const reference::Sums expected = expected_loss(bound.network(), bound.model(), input);
      EXPECT_GT(expected.classes, 0);
      EXPECT_NEAR(loss.box, expected.box, 1e-4 * expected.box);
      EXPECT_NEAR(loss.objectness, expected.objectness, 1e-4 * expected.objectness);
      EXPECT_NEAR(loss.classes, expected.classes, 1e-4 * expected.classes);
      const auto after = bound.network().detections(0.2f);
      ASSERT_EQ(after.size(), before.size());
      for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i].size(), before[i].size());
    }
  }
}

TEST(LossOfInference, IsOfTheHeadsThatTrain) {
  const auto backend = make_cpu_backend();
  Model model = model_of(two_heads, 3);
  for (size_t i = 0; i < 4; ++i) model.layers[i].rate = 0;  // the first head, and all before it
  BoundNetwork bound(*backend, model, batch, side, Precision::fp32, Mode::infer, false, true);
  const Input input(batch);
  bound.network().set_pixels(input.pixels.data());
  bound.network().infer();
  YoloLoss loss;
  for (const YoloLoss& of_image : bound.network().loss(input.truths)) loss += of_image;
  const reference::Sums expected = expected_loss(bound.network(), bound.model(), input, 4);
  EXPECT_NEAR(loss.box, expected.box, 1e-4 * expected.box);
  EXPECT_NEAR(loss.objectness, expected.objectness, 1e-4 * expected.objectness);
  EXPECT_NEAR(loss.classes, expected.classes, 1e-4 * expected.classes);
}

TEST(LossOfInference, TakesMemoryOnlyWhereItIsWanted) {
  const auto backend = make_cpu_backend();
  BoundNetwork plain(*backend, model_of(two_heads, 3), batch, side, Precision::fp32, Mode::infer);
  BoundNetwork with_loss(*backend, model_of(two_heads, 3), batch, side, Precision::fp32, Mode::infer, false,
                         true);
  EXPECT_LT(plain.network().memory().arena(), with_loss.network().memory().arena());
  const Input input(batch);
  plain.network().set_pixels(input.pixels.data());
  plain.network().infer();
  EXPECT_THROW(plain.network().loss(input.truths), std::exception);
}

double total(const std::vector<YoloLoss>& losses) {
  double sum = 0;
  for (const YoloLoss& loss : losses) sum += loss.box + loss.objectness + loss.classes;
  return sum;
}

TEST(LossOfInference, IsByTheAssignmentOfTheTraining) {
  const auto backend = make_cpu_backend();
  const Input input(batch);
  const auto measured = [&](const std::string& assignment, bool is_static) {
    std::string yaml = two_heads;
    yaml.replace(yaml.find("label_smoothing"), 0, "assignment: " + assignment + ", ");
    BoundNetwork bound(*backend, model_of(yaml, 3), batch, side, Precision::fp32, Mode::infer, false, true);
    bound.network().set_pixels(input.pixels.data());
    bound.network().infer();
    bound.network().assign_statically(is_static);
    return total(bound.network().loss(input.truths));
  };
  EXPECT_EQ(measured("simota", true), measured("neighbours", false));
  EXPECT_NE(measured("simota", true), measured("simota", false));
}

// An anchor's width is a fraction of the input's width, and its height of the height.
TEST(LossOfInference, OfARectangularInputHasItsSides) {
  const auto backend = make_cpu_backend();
  BoundNetwork bound(*backend, model_of(two_heads, 3), batch, {32, 96}, Precision::fp32, Mode::infer, false,
                     true);
  const Input input(batch);
  bound.network().set_pixels(input.pixels.data());
  bound.network().infer();
  YoloLoss loss;
  for (const YoloLoss& of_image : bound.network().loss(input.truths)) loss += of_image;
  const reference::Sums expected = expected_loss(bound.network(), bound.model(), input);
  EXPECT_NEAR(loss.box, expected.box, 1e-4 * expected.box);
  EXPECT_NEAR(loss.objectness, expected.objectness, 1e-4 * expected.objectness);
  EXPECT_NEAR(loss.classes, expected.classes, 1e-4 * expected.classes);
  for (const auto& of_image : bound.network().detections(0.002f)) {
    for (const Detection& found : of_image) {
      // Of the initial logits of sizes, which are small: about an anchor's, 10 x 12 to 40 x 40 pixels.
      EXPECT_TRUE(found.box.w * 96 > 4 && found.box.w * 96 < 90) << found.box.w;
      EXPECT_TRUE(found.box.h * 32 > 4 && found.box.h * 32 < 90) << found.box.h;
    }
  }
}

}  // namespace
}  // namespace brightnet
