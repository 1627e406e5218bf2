#include "detect/evaluate/metrics_json.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(MetricsJson, HasTheDocumentedKeysInTheirOrder) {
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

TEST(MetricsJson, ComesBackAsTheMetricsItWasMadeFrom) {
  DetectionEvaluator evaluator({"a", "b"});
  const Annotation truth{0, 0, 20, 20, 0, false, false, 400};
  evaluator.add(1, std::vector<ScoredBox>{{0, 0, 19, 20, 0, 0.5f}}, std::vector<Annotation>{truth});
  const Json json = to_json(evaluator.finish());
  EXPECT_EQ(to_json(metrics_from(Json::parse(json.dump()))), json);
  Metrics with_loss = metrics_from(json);
  with_loss.loss = MeanLoss{1, 2, 4};
  const Json longer = to_json(with_loss);
  EXPECT_EQ(longer["loss"].dump(), R"({"box":1.0,"objectness":2.0,"class":4.0,"total":7.0})");
  EXPECT_EQ(to_json(metrics_from(Json::parse(longer.dump()))), longer);
  Json shorter = json;
  for (const char* key : {"precision", "recall", "f1", "score"}) shorter.erase(key);
  EXPECT_EQ(metrics_from(shorter).AP, with_loss.AP) << "as older versions wrote it";
  shorter.erase("AR");
  EXPECT_THROW(metrics_from(shorter), Json::exception);
}

}  // namespace
}  // namespace brightnet
