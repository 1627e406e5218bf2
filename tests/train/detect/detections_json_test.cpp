#include "train/detect/detections_json.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(DetectionsJson, EvalHasTheDocumentedKeysInTheirOrder) {
  DetectionEvaluator evaluator({"a", "b"});
  const Annotation truth{0, 0, 20, 20, 0, false, false, 400};
  evaluator.add(1, std::vector<ScoredBox>{{0, 0, 20, 20, 0, 0.7f}}, std::vector<Annotation>{truth});
  const Json json = to_json(evaluator.finish());
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  keys.resize(9);
  EXPECT_EQ(keys, (std::vector<std::string>{"AP", "AP50", "AP75", "APs", "APm", "APl", "AR", "per_class",
                                            "images"}));
  EXPECT_EQ(json["AP"], 1.0);
  EXPECT_EQ(json["APl"], -1.0);
  EXPECT_EQ(json["images"], 1);
  ASSERT_EQ(json["per_class"].size(), 2u);
  EXPECT_EQ(json["per_class"][0]["name"], "a");
  EXPECT_EQ(json["per_class"][0]["truths"], 1);
  EXPECT_EQ(json["per_class"][0]["score"].dump(), "0.7");
  EXPECT_EQ(json["per_class"][1]["AP50"], -1.0);
}

TEST(DetectionsJson, MetricsComeBackFromTheirJson) {
  DetectionEvaluator evaluator({"a", "b"});
  const Annotation truth{0, 0, 20, 20, 0, false, false, 400};
  evaluator.add(1, std::vector<ScoredBox>{{0, 0, 19, 20, 0, 0.5f}}, std::vector<Annotation>{truth});
  const Json json = to_json(evaluator.finish());
  EXPECT_EQ(to_json(metrics_from(Json::parse(json.dump()))), json);
  Json shorter = json;
  shorter.erase("AR");
  EXPECT_THROW(metrics_from(shorter), Json::exception);
}

TEST(DetectionsJson, DetectListsTheBestFirstWithShortNumbers) {
  const std::vector<ScoredBox> detections{{1, 2, 3, 4, 1, 0.25f}, {10.1f, 20, 30.5f, 40, 0, 0.87f}};
  const Json json = to_json("photos/ä.jpg", 640, 480, detections, {"dog", "cat"});
  EXPECT_EQ(json.dump(), R"({"file":"photos/ä.jpg","width":640,"height":480,"detections":[)"
                         R"({"class":0,"name":"dog","score":0.87,"box":[10.1,20.0,30.5,40.0]},)"
                         R"({"class":1,"name":"cat","score":0.25,"box":[1.0,2.0,3.0,4.0]}]})");
}

TEST(DetectionsJson, AFileNameThatIsNotUtf8IsStillPrinted) {
  const std::string text = to_text(to_json("caf\xe9.jpg", 1, 1, {}, {}));
  EXPECT_EQ(Json::parse(text)["file"], "caf\xef\xbf\xbd.jpg");
  EXPECT_EQ(text.back(), '\n');
}

}  // namespace
}  // namespace brightnet
