#include "train/setup/trained_anchors.h"

#include <gtest/gtest.h>

#include "tests/layers/models.h"
#include "tests/train/small_training.h"

namespace brightnet::testing {
namespace {

std::vector<float> random_values(const ParameterLayout& layout) {
  std::vector<float> values(layout.floats());
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.01f * static_cast<float>(i * i % 101) - 0.5f;
  return values;
}

TEST(TrainedAnchors, AnswerTheBoxesThatTheyWereTrainedForOnOtherAnchors) {
  const Model model = shipped_model("yolov4-tiny", 3);
  const ParameterLayout layout(model);
  const std::vector<float> before = random_values(layout);
  std::vector<float> values = before;
  TrainedAnchors trained = anchors_of(model);
  ASSERT_EQ(trained.heads.size(), 2u);
  trained.heads[1] = {{23, 27}, {37, 58}, {81, 82}};  // of yolov4-tiny.weights; here 0, 1, 2
  const std::string said = fit_to_anchors(trained, model, layout, values);
  EXPECT_NE(said.find("predict16: 23x27 37x58 81x82 in the weights, 10x14 23x27 37x58 here"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("biases are shifted"), std::string::npos) << said;
  const ParameterEntry* bias = layout.find("predict16.bias");
  const float now[3][2] = {{10, 14}, {23, 27}, {37, 58}};
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t channel = i - bias->offset, of_anchor = channel % 8;
    const bool side = i >= bias->offset && channel < 24 && (of_anchor == 2 || of_anchor == 3);
    if (!side) {
      ASSERT_EQ(values[i], before[i]) << "nothing else changes";
      continue;
    }
    const size_t a = channel / 8, axis = of_anchor - 2;
    const Anchor& theirs = trained.heads[1][a];
    EXPECT_NEAR(now[a][axis] * std::exp(values[i]), (axis == 0 ? theirs.w : theirs.h) * std::exp(before[i]),
                1e-3);
  }
}

TEST(TrainedAnchors, ThatAreTheModelsOrNotKnownChangeNothing) {
  const Model model = shipped_model("yolov4-tiny", 3);
  const ParameterLayout layout(model);
  const std::vector<float> before = random_values(layout);
  std::vector<float> values = before;
  EXPECT_NE(fit_to_anchors(anchors_of(model), model, layout, values).find("with this model's anchors"),
            std::string::npos);
  const std::string unknown = fit_to_anchors({}, model, layout, values);
  EXPECT_NE(unknown.find("predict16: 10x14 23x27 37x58"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("--weights-cfg"), std::string::npos) << unknown;
  TrainedAnchors quadratic = anchors_of(model);
  quadratic.heads[0][0].w += 1;
  quadratic.logarithmic = false;
  EXPECT_NE(fit_to_anchors(quadratic, model, layout, values).find("wrong by as much"), std::string::npos);
  EXPECT_EQ(values, before);
}

TEST(TrainedAnchors, OfPublishedFilesAreKnownByWhatIsInThem) {
  const auto file = source_dir() / "../shared/pretrained/yolov3-tiny.weights";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "there is no ../shared/pretrained";
  const TrainedAnchors trained = anchors_of_published(file);
  ASSERT_EQ(trained.heads.size(), 2u);
  EXPECT_EQ(trained.heads[0][2].w, 344);
  EXPECT_EQ(trained.heads[1][0].h, 14);
  EXPECT_TRUE(anchors_of_published(source_dir() / "README.md").heads.empty());
}

}  // namespace
}  // namespace brightnet::testing
