#include "train/setup/automatic_head.h"

#include <map>

#include <fmt/format.h>

#include "formats/weights.h"
#include "layers/model/reader.h"
#include "tests/formats/small_cfg.h"
#include "tests/paths.h"
#include "tests/train/small_run.h"
#include "train/setup/model.h"

namespace brightnet {
namespace {

using testing::SmallRun;

/// A run of the small model, and what is chosen for its heads.
class AutomaticHead : public ::testing::Test {
 protected:
  const YoloHead& choose(const std::vector<std::string>& assignments = {},
                         const std::vector<std::string>& fresh = {}) {
    config_ = load_run_config(run_.config(), assignments);
    config_.train.fresh = fresh;
    choices_.clear();
    for (const Choice& choice : choose_head(config_, load_model(config_, 2))) choices_[choice.key] = choice;
    model_ = load_model(config_, 2);
    return head();
  }
  const YoloHead& head() const { return std::get<YoloAttributes>(model_.layers.back().attributes).head; }
  std::vector<float> scales() const {
    std::vector<float> all;
    for (const LayerDescription& layer : model_.layers) {
      if (const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes))
        all.push_back(yolo->head.scale_xy);
    }
    return all;
  }
  /// The small model with a scale_xy in each yolo layer, as YOLOv4 has.
  void give_each_head_a_scale(const std::string& first, const std::string& second) {
    std::string text = testing::small_model;
    text.replace(text.find("mask: [0, 1]"), 12, "mask: [0, 1], scale_xy: " + first);
    text.replace(text.find("mask: [2, 3]"), 12, "mask: [2, 3], scale_xy: " + second);
    write_atomically(run_.folder() / "model.yaml", text);
  }
  /// Weights of the small model whose heads have these keys.
  std::string weights_of_heads(const char* keys) {
    TrainedModel trained;
    HeadOptions head;
    read_config(YamlDocument::parse(keys, "heads").root(), head);
    trained.model = load_model(run_.folder() / "model.yaml", 2, head);
    trained.classes = {"circle", "square"};
    trained.layout = ParameterLayout(trained.model);
    trained.values = initial_parameters(trained.model, trained.layout, 3);
    const auto file = run_.folder() / "pretrained.safetensors";
    save_weights(file, trained);
    return "train.weights=" + file.string();
  }

  SmallRun run_;
  RunConfig config_;
  Model model_;
  std::map<std::string, Choice> choices_;
};

TEST_F(AutomaticHead, TheRecipeIsTheOneThatWasMeasured) {
  const YoloHead& head = choose();
  EXPECT_EQ(head.assignment, AssignmentKind::simota);
  EXPECT_EQ(head.box_weight, 8);
  EXPECT_EQ(head.scale_xy, 2);
  EXPECT_EQ(head.iou_kind, IouKind::ciou);
  choose_static_assignment(config_, model_);
  EXPECT_EQ(config_.train.static_assignment, 0.5f);
}

TEST_F(AutomaticHead, FreshPredictionLayersGetTheRecipe) {
  for (const std::vector<std::string>& assignments : {{}, std::vector<std::string>{"head.assignment=auto"}}) {
    const YoloHead& head = choose(assignments);
    EXPECT_NE(head.assignment, AssignmentKind::best_anchor);
    EXPECT_EQ(head.scale_xy, 2) << "or a neighbouring cell's prediction does not reach the centre";
    EXPECT_TRUE(head.new_coords);
    EXPECT_TRUE(head.objectness_smooth);
    EXPECT_GT(head.box_weight, 1);
    EXPECT_EQ(config_.head.assignment, LeavableKey<AssignmentKind>(head.assignment))
        << "in the run's config.yaml";
    ASSERT_TRUE(choices_.contains("head.scale_xy"));
    EXPECT_NE(choices_["head.scale_xy"].reason.find("fresh"), std::string::npos);
  }
}

TEST_F(AutomaticHead, SimotaTakesAllCandidatesAtFirstWherePredictionLayersStartFresh) {
  const auto part_of = [&](const std::vector<std::string>& assignments) {
    choose(assignments);
    const auto choice = choose_static_assignment(config_, model_);
    EXPECT_EQ(choice.has_value(), config_.train.static_assignment > 0 && assignments.size() < 2);
    if (choice) {
      EXPECT_EQ(choice->key, "train.static_assignment");
    }
    return config_.train.static_assignment.value();
  };
  EXPECT_GT(part_of({}), 0);
  EXPECT_LT(part_of({}), 1);
  EXPECT_EQ(part_of({"head.assignment=neighbours"}), 0);
  EXPECT_EQ(part_of({"head.assignment=best_anchor"}), 0);
  EXPECT_EQ(part_of({"head.assignment=simota", "train.static_assignment=0.25"}), 0.25f) << "given";
  EXPECT_EQ(part_of({weights_of_heads("{assignment: simota, scale_xy: 2}")}), 0) << "they predict already";
}

TEST_F(AutomaticHead, AllHeadsGetItWhateverTheModelsLayersSay) {
  give_each_head_a_scale("1.2", "1.1");
  choose();
  EXPECT_EQ(scales(), (std::vector<float>{2, 2}));
  choose({"model=" + (testing::source_dir() / "configs/models/yolov4.yaml").string()});
  EXPECT_EQ(scales(), (std::vector<float>{2, 2, 2}));
}

TEST_F(AutomaticHead, TheUsersKeysWinOverTheModelsLayers) {
  give_each_head_a_scale("1.2", "1.1");
  choose({"head.assignment=model", "head.scale_xy=1.5", "head.anchors=[[1, 1], [2, 2], [3, 3], [4, 4]]"});
  EXPECT_EQ(scales(), (std::vector<float>{1.5f, 1.5f}));
  EXPECT_EQ(model_.yaml().find("--set"), std::string::npos) << model_.yaml();
  choose({"head.assignment=model"});
  EXPECT_EQ(scales(), (std::vector<float>{1.2f, 1.1f}));
}

TEST_F(AutomaticHead, PretrainedPredictionsOfDifferentHeadsKeepEachItsOwn) {
  write_atomically(run_.folder() / "any.weights", std::string("darknet's"));
  choose({"model=" + (testing::source_dir() / "configs/models/yolov4.yaml").string(),
          "train.weights=" + (run_.folder() / "any.weights").string()});
  EXPECT_EQ(scales(), (std::vector<float>{1.2f, 1.1f, 1.05f}));

  give_each_head_a_scale("1.2", "1.1");
  const std::string weights = weights_of_heads("{assignment: neighbours, box_weight: 4}");
  EXPECT_EQ(choose({weights}).assignment, AssignmentKind::neighbours);
  EXPECT_EQ(head().box_weight, 4);
  EXPECT_EQ(scales(), (std::vector<float>{1.2f, 1.1f}));
  EXPECT_FALSE(choices_.contains("head.scale_xy"));

  // Of a run from scratch, whose heads all had the recipe's.
  choose({weights_of_heads("{assignment: simota, scale_xy: 2}")});
  EXPECT_EQ(scales(), (std::vector<float>{2, 2}));
}

TEST_F(AutomaticHead, GivenKeysStayAndTheOthersAreChosen) {
  const YoloHead& head = choose({"head.box_weight=3", "head.new_coords=false"});
  EXPECT_EQ(head.box_weight, 3);
  EXPECT_FALSE(head.new_coords);
  EXPECT_EQ(head.scale_xy, 2);
  EXPECT_FALSE(choices_.contains("head.box_weight"));
}

TEST_F(AutomaticHead, AThresholdThatHasNoEffectIsSaidToHaveNone) {
  choose({"head.iou_threshold=0.3"});
  EXPECT_NE(choices_["head.assignment"].reason.find("iou_threshold"), std::string::npos);
  choose();
  EXPECT_EQ(choices_["head.assignment"].reason.find("iou_threshold"), std::string::npos);
}

TEST_F(AutomaticHead, TheModelsAssignmentAndBestAnchorLeaveAllToTheUser) {
  for (const char* assignment : {"head.assignment=model", "head.assignment=best_anchor"}) {
    const YoloHead& head = choose({assignment});
    EXPECT_EQ(head.assignment, AssignmentKind::best_anchor);
    EXPECT_FLOAT_EQ(head.scale_xy, 1.05f);
    EXPECT_FALSE(head.new_coords);
    EXPECT_TRUE(choices_.empty());
  }
}

TEST_F(AutomaticHead, WritingTheDefaultDownChangesNothing) {
  choose();
  const std::string automatic = model_.yaml();
  choose({"head.assignment=simota"});
  EXPECT_EQ(model_.yaml(), automatic);
  EXPECT_TRUE(choose({"head.assignment=simota", "head.scale_xy=2", "head.new_coords=true",
                      "head.objectness_smooth=true", "head.box_weight=8", "head.iou_loss=ciou",
                      "head.iou_threshold=0.3"})
                  .new_coords);
  EXPECT_TRUE(choices_.empty()) << "as in the configuration of a run";
}

TEST_F(AutomaticHead, NeighboursBringTheKeysThatTheyNeed) {
  const YoloHead& head = choose({"head.assignment=neighbours", "head.box_weight=3"});
  EXPECT_EQ(head.assignment, AssignmentKind::neighbours);
  EXPECT_EQ(head.scale_xy, 2);
  EXPECT_TRUE(head.new_coords);
  EXPECT_TRUE(head.objectness_smooth);
  EXPECT_EQ(head.box_weight, 3) << "given";
}

TEST_F(AutomaticHead, AnAssignmentForPretrainedPredictionsLeavesTheirBoxesAsTheyWereTrained) {
  const YoloHead& head = choose({weights_of_heads("{scale_xy: 1.5}"), "head.assignment=simota"});
  EXPECT_EQ(head.assignment, AssignmentKind::simota);
  EXPECT_EQ(head.scale_xy, 1.5f);
  EXPECT_FALSE(head.new_coords);
}

TEST_F(AutomaticHead, PretrainedPredictionsAreReadAsTheyWereTrained) {
  const std::string weights = weights_of_heads(
      "{assignment: neighbours, scale_xy: 1.5, new_coords: true, anchors: [[5, 6], [7, 8], [9, 10], [30, 30]]}");
  const YoloHead& head = choose({weights});
  EXPECT_EQ(head.assignment, AssignmentKind::neighbours);
  EXPECT_EQ(head.scale_xy, 1.5f);
  EXPECT_TRUE(head.new_coords);
  EXPECT_EQ(head.anchors[0].w, 5);
  EXPECT_EQ(head.box_weight, 1) << "not the recipe's";
  EXPECT_NE(choices_["head.scale_xy"].reason.find("pretrained"), std::string::npos);

  // Of other classes: the prediction layers are new.
  EXPECT_EQ(choose({weights}, {"conv3", "conv5"}).scale_xy, 2);
}

TEST_F(AutomaticHead, PretrainedPredictionsOfOtherHeadsKeepTheModels) {
  write_atomically(run_.folder() / "any.weights", std::string("darknet's"));
  const YoloHead& head = choose({"train.weights=" + (run_.folder() / "any.weights").string()});
  EXPECT_FLOAT_EQ(head.scale_xy, 1.05f);
  EXPECT_FALSE(head.new_coords);
  EXPECT_TRUE(is_left_to(config_.head.assignment, LeftTo::model));
}

TEST_F(AutomaticHead, AnImportedDarknetNetworkKeepsDarknetsRuleUnlessToldOtherwise) {
  write_atomically(run_.folder() / "net.cfg", testing::small_cfg);
  const std::string model = "model=" + (run_.folder() / "net.cfg").string(), size = "train.size=64";
  EXPECT_EQ(choose({model, size}).assignment, AssignmentKind::best_anchor);
  EXPECT_TRUE(choices_.empty());
  for (const char* assignment : {"auto", "simota", "neighbours"}) {
    const YoloHead& head = choose({model, size, fmt::format("head.assignment={}", assignment)});
    EXPECT_NE(head.assignment, AssignmentKind::best_anchor) << assignment;
    EXPECT_EQ(head.box_weight, 8) << assignment << ": and not the import's";
    EXPECT_TRUE(head.objectness_smooth) << assignment;
  }
  EXPECT_EQ(choose({model, size, "head.assignment=simota", "head.box_weight=3"}).box_weight, 3);
}

TEST(IsChosenWithHead, KnowsTheKeysOfTheRecipeAndTheAnchors) {
  EXPECT_TRUE(is_chosen_with_head("head.anchors"));
  EXPECT_TRUE(is_chosen_with_head("head.box_weight"));
  EXPECT_FALSE(is_chosen_with_head("head.label_smoothing"));
}

}  // namespace
}  // namespace brightnet
