#include "train/setup/automatic_anchors.h"

#include "tests/train/small_run.h"
#include "train/setup/run_model.h"

namespace brightnet {
namespace {

using testing::SmallRun;

std::vector<std::vector<float>> anchors_of(const Model& model) {
  std::vector<std::vector<float>> anchors;
  for (const auto& layer : model.layers) {
    if (const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes)) {
      for (int i = 0; i < yolo->head.mask_count; ++i) {
        const Anchor& anchor = yolo->head.anchors[yolo->head.mask[i]];
        anchors.push_back({anchor.w, anchor.h});
      }
    }
  }
  return anchors;
}

TEST(AutomaticAnchors, AreThoseOfTheTrainingSplitAndStandInTheConfiguration) {
  const SmallRun run;
  RunConfig config = load_run_config(run.config(), {"head.anchors=auto"});
  const Dataset train = read_dataset(config.data, Split::train);
  const Model before = load_model(config, static_cast<int>(train.classes.size()));
  EXPECT_EQ(anchors_of(before), (std::vector<std::vector<float>>{{8, 8}, {14, 14}, {22, 22}, {32, 32}}));

  resolve_anchors(config, train);
  const AnchorResult expected = find_anchors(train, anchor_options(config, before));
  const auto found = anchors_of(load_model(config, static_cast<int>(train.classes.size())));
  ASSERT_EQ(found.size(), expected.anchors.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i][0], expected.anchors[i].width);
    EXPECT_EQ(found[i][1], expected.anchors[i].height);
  }
  EXPECT_NE(found, anchors_of(before));
  EXPECT_FALSE(config.head.node["anchors"].IsScalar());
}

TEST(AutomaticAnchors, GivenAnchorsStay) {
  const SmallRun run;
  RunConfig config = load_run_config(run.config(), {"head.anchors=[[1, 2], [3, 4], [5, 6], [7, 8]]"});
  resolve_anchors(config, read_dataset(config.data, Split::train));
  EXPECT_EQ(config.head.node["anchors"][3][1].as<int>(), 8);
}

}  // namespace
}  // namespace brightnet
