#include "train/setup/automatic_anchors.h"

#include "formats/darknet/import.h"
#include "formats/weights.h"
#include "layers/model/reader.h"
#include "tests/train/small_run.h"
#include "train/setup/model.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using testing::SmallRun;

using Anchors = std::vector<std::vector<float>>;

const Anchors of_model{{8, 8}, {14, 14}, {22, 22}, {32, 32}};

Anchors anchor_list(const Model& model) {
  Anchors anchors;
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

/// A run of the small model, and what is chosen for data that a test makes.
class AutomaticAnchors : public ::testing::Test {
 protected:
  std::optional<Choice> choose(std::vector<std::string> assignments = {}) {
    config_ = load_run_config(run_.config(), assignments);
    config_.train.fresh = fresh_;
    const std::optional<Choice> choice = choose_anchors(config_, train_, load_model(config_, 2));
    model_ = load_model(config_, 2);
    return choice;
  }
  /// An image of 416 × 416 pixels, as the network sees it, with these boxes.
  void add_image(const std::vector<BoxShape>& boxes) {
    ImageRecord image;
    image.width = image.height = 416;
    for (const auto& box : boxes) {
      image.annotations.push_back(
          {.x1 = 0, .y1 = 0, .x2 = static_cast<float>(box.width), .y2 = static_cast<float>(box.height)});
    }
    train_.images.push_back(image);
  }

  SmallRun run_;
  Dataset train_;
  RunConfig config_;
  Model model_;
  std::vector<std::string> fresh_;
};

TEST_F(AutomaticAnchors, AreThoseOfTheTrainingSplitAndStandInTheConfiguration) {
  const RunConfig config = run_.load();
  train_ = read_dataset(config.data, Split::train);
  for (const std::vector<std::string>& assignments : {{}, std::vector<std::string>{"head.anchors=auto"}}) {
    const auto choice = choose(assignments);
    const AnchorResult expected = find_anchors(train_, anchor_options(config_, model_));
    const Anchors found = anchor_list(model_);
    ASSERT_EQ(found.size(), expected.anchors.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i][0], expected.anchors[i].width);
      EXPECT_EQ(found[i][1], expected.anchors[i].height);
    }
    EXPECT_NE(found, of_model);
    ASSERT_TRUE(choice.has_value());
    EXPECT_EQ(choice->value, expected.list());
    EXPECT_TRUE(value_of(config_.head.anchors));
  }
}

TEST_F(AutomaticAnchors, GivenAnchorsAndTheModelsOwnStay) {
  add_image({{10, 10}, {20, 20}, {30, 40}, {50, 60}, {100, 110}});
  EXPECT_FALSE(choose({"head.anchors=[[1, 2], [3, 4], [5, 6], [7, 8]]"}).has_value());
  EXPECT_EQ(anchor_list(model_), (Anchors{{1, 2}, {3, 4}, {5, 6}, {7, 8}}));
  EXPECT_FALSE(choose({"head.anchors=model"}).has_value());
  EXPECT_EQ(anchor_list(model_), of_model);
}

TEST_F(AutomaticAnchors, PretrainedPredictionsKeepTheAnchorsTheyWereTrainedWith) {
  add_image({{10, 10}, {20, 20}, {30, 40}, {50, 60}, {100, 110}});
  const std::string weights = (run_.folder() / "pretrained.safetensors").string();
  std::string yaml = testing::small_model;
  yaml.replace(yaml.find("[8, 8], [14, 14], [22, 22]"), 26, "[9, 8], [15, 14], [23, 22]");
  TrainedModel trained{.model = parse_model(YamlDocument::parse(yaml, "other.yaml"), 2),
                       .classes = {"circle", "square"},
                       .training = {},
                       .layout = {},
                       .values = {}};
  trained.layout = ParameterLayout(trained.model);
  trained.values.assign(trained.layout.floats(), 0.5f);
  save_weights(weights, trained);
  const auto choice = choose({"train.weights=" + weights});
  ASSERT_TRUE(choice.has_value());
  EXPECT_NE(choice->reason.find("pretrained"), std::string::npos);
  EXPECT_EQ(anchor_list(model_), (Anchors{{9, 8}, {15, 14}, {23, 22}, {32, 32}}));
  ASSERT_TRUE(value_of(config_.head.anchors));
  EXPECT_EQ(value_of(config_.head.anchors)->list.size(), 4u) << "a resumed run must not fit them again";

  // Weights of other classes supply the backbone alone.
  fresh_ = {"conv3", "conv5"};
  choose({"train.weights=" + weights});
  EXPECT_NE(anchor_list(model_), of_model);
  EXPECT_NE(anchor_list(model_), (Anchors{{9, 8}, {15, 14}, {23, 22}, {32, 32}}));
}

TEST_F(AutomaticAnchors, PretrainedPredictionsOfDarknetKeepTheModels) {
  add_image({{10, 10}, {20, 20}, {30, 40}, {50, 60}, {100, 110}});
  const fs::path weights = run_.folder() / "pretrained.weights";
  write_atomically(weights, std::string("any"));
  const auto choice = choose({"train.weights=" + weights.string()});
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->value, "model");
  EXPECT_NE(choice->reason.find("pretrained"), std::string::npos);
  EXPECT_EQ(anchor_list(model_), of_model);
  EXPECT_TRUE(is_left_to(config_.head.anchors, LeftTo::model)) << "a resumed run must not fit them again";
}

TEST_F(AutomaticAnchors, FewerBoxesThanAnchorsKeepTheModels) {
  for (int boxes = 0; boxes < 4; ++boxes) {
    const auto choice = choose();
    ASSERT_TRUE(choice.has_value());
    EXPECT_EQ(choice->value, "model");
    EXPECT_NE(choice->reason.find("4 anchors"), std::string::npos) << choice->reason;
    EXPECT_EQ(anchor_list(model_), of_model) << boxes;
    add_image({{20.0 + boxes, 30}});
  }
  EXPECT_NE(choose()->value, "model") << "four are enough";
}

TEST_F(AutomaticAnchors, BoxesOfOneSizeGiveDifferentAnchorsAroundIt) {
  for (int i = 0; i < 50; ++i) add_image({{40, 30}});
  ASSERT_NE(choose()->value, "model");
  const Anchors found = anchor_list(model_);
  EXPECT_EQ(std::count(found.begin(), found.end(), std::vector<float>{40, 30}), 1);
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(std::count(found.begin(), found.end(), found[i]), 1);
    for (const float side : found[i]) {
      EXPECT_GE(side, 7);
      EXPECT_LE(side, 160);
    }
  }
}

TEST_F(AutomaticAnchors, AModelThatLeavesAnAnchorOutKeepsItsOwn) {
  std::string text = testing::small_model;
  text.replace(text.find("mask: [0, 1]"), 12, "mask: [1, 2]");
  write_atomically(run_.folder() / "model.yaml", text);
  add_image({{10, 10}, {20, 20}, {30, 40}, {50, 60}, {100, 110}});
  const auto choice = choose();
  EXPECT_EQ(choice->value, "model");
  EXPECT_NE(choice->reason.find("anchor 0 is in no head's mask"), std::string::npos) << choice->reason;
}

TEST_F(AutomaticAnchors, LayersThatListTheirOwnAnchorsKeepThem) {
  std::string text = testing::small_model;
  text.replace(text.find("mask: [0, 1]"), 12,
               "anchors: [[9, 9], [15, 15], [23, 23], [33, 33]], mask: [0, 1]");
  write_atomically(run_.folder() / "model.yaml", text);
  add_image({{10, 10}, {20, 20}, {30, 40}, {50, 60}, {100, 110}});
  EXPECT_NE(choose()->reason.find("list their own"), std::string::npos);
  EXPECT_EQ(anchor_list(model_), (Anchors{{9, 9}, {15, 15}, {22, 22}, {32, 32}}));
}

TEST_F(AutomaticAnchors, AModelKeptAsItIsHasItsAnchorsInItsDescription) {
  choose({"head.anchors=model"});
  write_atomically(run_.folder() / "model.yaml", model_.yaml());
  choose({"head.anchors=model"});
  EXPECT_EQ(anchor_list(model_), of_model);
}

TEST_F(AutomaticAnchors, AnImportedDarknetNetworkKeepsItsOwn) {
  add_image({{10, 10}, {20, 20}, {30, 40}, {50, 60}, {100, 110}});
  config_ = load_run_config(run_.config());
  config_.imported = std::make_shared<const DarknetImport>();
  const Model model = load_model(run_.folder() / "model.yaml", 2);
  EXPECT_FALSE(choose_anchors(config_, train_, model).has_value());
}

TEST_F(AutomaticAnchors, TheFitIsTheShareOfBoxesWithinAFactorOfFourOfEachHead) {
  const Model model = load_model(run_.folder() / "model.yaml", 2);
  // Anchors of 8 and 14 pixels, and of 22 and 32. The third is as wide as four anchors and as high as none.
  const AnchorFit fit = anchor_fit(model, {{8, 8}, {32, 32}, {14, 200}, {120, 120}});
  ASSERT_EQ(fit.heads.size(), 2u);
  EXPECT_DOUBLE_EQ(fit.heads[0].recall, 2.0 / 4) << "of 14 pixels are the boxes of 8 and 32";
  EXPECT_DOUBLE_EQ(fit.heads[1].recall, 3.0 / 4);
  EXPECT_DOUBLE_EQ(fit.recall, 3.0 / 4);
  EXPECT_NEAR(fit.mean_iou, (1 + 1 + 14.0 * 32 / (32 * 32 + 14 * 168) + 1024.0 / 14400) / 4, 1e-9);
  EXPECT_NE(fit.text().find("75.0 %"), std::string::npos) << fit.text();
  EXPECT_NE(fit.text().find(fit.heads[0].name + " 50.0 %"), std::string::npos) << fit.text();
}

}  // namespace
}  // namespace brightnet
