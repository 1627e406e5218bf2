#include "formats/class_channels.h"

#include "core/error.h"
#include "tests/layers/models.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

using Names = std::vector<std::string>;

TEST(ClassChannels, NamesThatDifferInCaseAloneAreSaid) {
  EXPECT_EQ(
      describe_other_case({"RBC", "WBC"}, {"rbc", "WBC"}),
      "Upper and lower case count: 'rbc' is 'RBC' in the weights; name them alike, by --set data.map.rbc=RBC.");
  EXPECT_EQ(describe_other_case({"RBC", "WBC"}, {"WBC", "RBC"}), "");
  EXPECT_EQ(describe_other_case({"circle"}, {"square"}), "");
}

TEST(ClassMatch, IsByName) {
  EXPECT_EQ(match_classes({"a", "b"}, {"a", "b"}).relation, ClassRelation::same);
  const ClassMatch turned = match_classes({"a", "b", "c"}, {"c", "a", "b"});
  EXPECT_EQ(turned.relation, ClassRelation::reordered);
  EXPECT_EQ(turned.source, (std::vector<int>{2, 0, 1}));
  for (const Names& more : {Names{"b", "x"}, Names{"b"}, Names{"a", "b", "c"}})
    EXPECT_EQ(match_classes({"a", "b"}, more).relation, ClassRelation::shared) << more[0];
  EXPECT_EQ(match_classes({"a", "b"}, {"b", "x"}).source, (std::vector<int>{1, -1}));
  EXPECT_EQ(match_classes({"a", "b"}, {"A", "B"}).relation, ClassRelation::other);
  EXPECT_EQ(match_classes({"class 0", "class 1"}, {"a", "b"}).relation, ClassRelation::numbered);
  EXPECT_EQ(match_classes({"class 0", "class 1"}, {"a"}).relation, ClassRelation::other);
  EXPECT_EQ(match_classes({"class 0", "class 1"}, {"class 1", "class 0"}).relation, ClassRelation::reordered)
      << "the data set calls its classes so";
}

// As the weights have "caf\ufffd" in the place of what the data set calls "caf\xe9".
TEST(ClassMatch, TakesANameThatIsNotUtf8ForTheOneThatTheWeightsHave) {
  EXPECT_EQ(match_classes({"caf\ufffd", "b"}, {"caf\xe9", "b"}).relation, ClassRelation::same);
  EXPECT_EQ(match_classes({"caf\ufffd", "b"}, {"b", "caf\xe9"}).source, (std::vector<int>{1, 0}));
  const ClassMatch alike = match_classes({"caf\ufffd", "caf\ufffd"}, {"caf\xe9", "caf\xe8"});
  EXPECT_EQ(alike.relation, ClassRelation::same);
  EXPECT_EQ(alike.source, (std::vector<int>{0, 1}));
}

/// The small model with heads of these anchors.
Model heads(const std::string& first_mask, int classes) {
  std::string yaml = small_model;
  yaml.replace(yaml.find("mask: [0, 1]"), 12, "mask: [" + first_mask + "]");
  return model_of(yaml, classes);
}

TEST(ClassChannels, AreNowhereWhereTheHeadHasOtherAnchorsEvenIfAsManyChannels) {
  // 2 anchors of 5 + 4 values and 3 of 5 + 1 are 18 channels each.
  const Model theirs = heads("0, 1", 4), ours = heads("0, 1, 2", 1);
  const ParameterLayout layout(ours);
  ASSERT_EQ(ParameterLayout(theirs).find("conv3.weight")->shape, layout.find("conv3.weight")->shape);
  const ChannelSources sources =
      class_channels(theirs, ours, layout, match_classes({"a", "b", "c", "d"}, {"b"}), "weights");
  EXPECT_EQ(sources.at("conv3.weight"), std::vector<int>(18, -1));
  EXPECT_EQ(sources.at("conv5.bias"), (std::vector<int>{0, 1, 2, 3, 4, 6, 9, 10, 11, 12, 13, 15}));
}

TEST(ClassChannels, CannotBeToldApartBehindAnotherLayer) {
  std::string yaml = small_model;
  yaml.replace(yaml.find("  - yolo: {mask: [0, 1]}"), 24,
               "  - max_pool: {size: 2, stride: 1}\n  - yolo: {mask: [0, 1]}");
  yaml.replace(yaml.find("filters: auto"), 13, "filters: 14");
  const Model model = model_of(yaml, 2);
  const ParameterLayout layout(model);
  EXPECT_TRUE(class_channels(model, model, layout, match_classes({"a", "b"}, {"a", "b"}), "weights").empty());
  EXPECT_THROW(class_channels(model, model, layout, match_classes({"a", "b"}, {"b", "a"}), "weights"),
               InputError);
}

}  // namespace
}  // namespace brightnet::testing
