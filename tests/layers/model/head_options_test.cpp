// What a run's `head:` says, and what it leaves open.
#include "layers/model/head_options.h"

#include <gtest/gtest.h>

#include "layers/model/layer_kinds.h"

namespace brightnet {
namespace {

HeadOptions read(const std::string& yaml) {
  HeadOptions head;
  read_config(YamlDocument::parse(yaml, "run.yaml").root(), head);
  return head;
}

TEST(HeadOptions, KnowNotGivenFromAutoFromModelFromAValue) {
  EXPECT_FALSE(read("{box_weight: 3}").anchors.has_value());
  EXPECT_TRUE(is_left_to(read("anchors: auto").anchors, LeftTo::training));
  EXPECT_TRUE(is_left_to(read("anchors: model").anchors, LeftTo::model));
  const HeadOptions given = read("{anchors: [[1, 2], [3, 4]], class_weights: off}");
  ASSERT_TRUE(value_of(given.anchors));
  EXPECT_EQ(value_of(given.anchors)->list[1].h, 4);
  EXPECT_EQ(value_of(given.anchors)->where, "run.yaml:1");
  ASSERT_TRUE(value_of(given.class_weights));
  EXPECT_TRUE(value_of(given.class_weights)->list.empty());
  EXPECT_THROW(read("box_weight: auto"), InputError);
  EXPECT_THROW(read("class_weights: model"), InputError);
  EXPECT_THROW(read("class_weights: [1, -0.5]"), InputError);
  EXPECT_THROW(read("class_weights: [.inf, 1]"), InputError);
  EXPECT_TRUE(value_of(read("class_weights: [0, 2]").class_weights));
}

TEST(HeadOptions, PrintWhatIsGivenAndNothingElse) {
  for (
      const char* text :
      {"{}", "{anchors: model, assignment: auto, class_weights: off}",
       "{anchors: [[10, 14.5], [23, 27]], scale_xy: 1.05, new_coords: false, assignment: simota, iou_loss: giou, "
       "class_weights: [0.5, 1], nms: diou}"}) {
    HeadOptions head = read(text);
    YAML::Node nodes = field_nodes([&](Fields& f) { head.fields(f); });
    nodes.SetStyle(YAML::EmitterStyle::Flow);
    YAML::Emitter emitter;
    emitter << nodes;
    EXPECT_STREQ(emitter.c_str(), text);
  }
}

TEST(HeadOptions, ChangeTheKeysThatAreGiven) {
  YoloAttributes yolo;
  yolo.head.box_weight = 3;
  yolo.head.scale_xy = 1.5f;
  yolo.class_weights = {1, 2};
  apply(read("{scale_xy: 2, assignment: model, anchors: auto}"), yolo);
  EXPECT_EQ(yolo.head.scale_xy, 2);
  EXPECT_EQ(yolo.head.box_weight, 3);
  EXPECT_EQ(yolo.head.anchor_count, 0);
  EXPECT_EQ(yolo.class_weights.size(), 2u);
  apply(read("class_weights: auto"), yolo);
  EXPECT_TRUE(yolo.automatic_class_weights);
  EXPECT_TRUE(yolo.class_weights.empty());
}

TEST(HeadOptions, OfAHeadMakeTheSameHead) {
  YoloAttributes yolo;
  apply(
      read(
          "{anchors: [[1, 2]], scale_xy: 1.2, new_coords: true, ignore_threshold: 0.1, truth_threshold: 0.2, "
          "assignment: neighbours, anchor_ratio: 3, iou_threshold: 0.3, iou_loss: diou, box_weight: 4, "
          "objectness_weight: 5, class_weight: 6, negative_weight: 7, label_smoothing: 0.4, focal_gamma: 8, "
          "objectness_smooth: true, objectness_gamma: 9, max_delta: 10, class_weights: [1, 2], nms: diou, "
          "nms_beta: 0.7}"),
      yolo);
  YoloAttributes other;
  apply(head_options(yolo), other);
  const YamlTexts texts = layer_texts(yolo, Activation::linear),
                  same = layer_texts(other, Activation::linear),
                  defaults = layer_texts(YoloAttributes(), Activation::linear);
  EXPECT_EQ(same, texts);
  ASSERT_EQ(texts.size(), defaults.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].first != "mask") {
      EXPECT_NE(texts[i].second, defaults[i].second) << texts[i].first;
    }
  }
}

TEST(HeadOptions, EachKeyIsAFieldOfItsOwn) {
  YoloAttributes yolo;
  apply(
      read(
          "{scale_xy: 1.2, new_coords: true, ignore_threshold: 0.1, truth_threshold: 0.2, assignment: simota, "
          "anchor_ratio: 3, iou_threshold: 0.3, iou_loss: diou, box_weight: 4, objectness_weight: 5, "
          "class_weight: 6, negative_weight: 7, label_smoothing: 0.4, focal_gamma: 8, objectness_smooth: true, "
          "objectness_gamma: 9, max_delta: 10, nms: diou, nms_beta: 0.7, anchors: [[1, 2], [3, 4]]}"),
      yolo);
  const YoloHead& head = yolo.head;
  EXPECT_EQ(head.scale_xy, 1.2f);
  EXPECT_TRUE(head.new_coords);
  EXPECT_EQ(head.ignore_threshold, 0.1f);
  EXPECT_EQ(head.truth_threshold, 0.2f);
  EXPECT_EQ(head.assignment, AssignmentKind::simota);
  EXPECT_EQ(head.anchor_ratio, 3);
  EXPECT_EQ(head.iou_threshold, 0.3f);
  EXPECT_EQ(head.iou_kind, IouKind::diou);
  EXPECT_EQ(head.box_weight, 4);
  EXPECT_EQ(head.objectness_weight, 5);
  EXPECT_EQ(head.class_weight, 6);
  EXPECT_EQ(head.negative_weight, 7);
  EXPECT_EQ(head.label_smoothing, 0.4f);
  EXPECT_EQ(head.focal_gamma, 8);
  EXPECT_TRUE(head.objectness_smooth);
  EXPECT_EQ(head.objectness_gamma, 9);
  EXPECT_EQ(head.max_delta, 10);
  EXPECT_EQ(yolo.nms, NmsKind::diou);
  EXPECT_EQ(yolo.nms_beta, 0.7f);
  EXPECT_EQ(head.anchor_count, 2);
  EXPECT_EQ(head.anchors[0].w, 1);
  EXPECT_EQ(head.anchors[0].h, 2);
  EXPECT_EQ(head.anchors[1].w, 3);
}

TEST(HeadOptions, AreWithinLimits) {
  struct Limits {
    const char *key, *low, *below, *high, *above;
  };
  for (const Limits& limits : {Limits{"scale_xy", "1", "0.99", "4", "4.01"},
                               {"ignore_threshold", "0", "-0.01", "1", "1.01"},
                               {"truth_threshold", "0", "-0.01", "1", "1.01"},
                               {"anchor_ratio", "1.01", "1", "100", nullptr},
                               {"iou_threshold", "0", "-0.01", "1", "1.01"},
                               {"box_weight", "0", "-0.01", "100", nullptr},
                               {"objectness_weight", "0", "-0.01", "100", nullptr},
                               {"class_weight", "0", "-0.01", "100", nullptr},
                               {"negative_weight", "0", "-0.01", "100", nullptr},
                               {"label_smoothing", "0", "-0.01", "0.5", "0.51"},
                               {"focal_gamma", "0", "-0.01", "10", "10.1"},
                               {"objectness_gamma", "0", "-0.01", "100", nullptr},
                               {"max_delta", "0", "-0.01", "100", nullptr},
                               {"nms_beta", "0.01", "0", "100", nullptr}}) {
    SCOPED_TRACE(limits.key);
    const auto read_key = [&](const char* value) { read(std::string(limits.key) + ": " + value); };
    EXPECT_NO_THROW(read_key(limits.low));
    EXPECT_THROW(read_key(limits.below), InputError);
    EXPECT_NO_THROW(read_key(limits.high));
    if (limits.above) {
      EXPECT_THROW(read_key(limits.above), InputError);
    }
  }
}

}  // namespace
}  // namespace brightnet
