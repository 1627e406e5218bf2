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

TEST(MetricsJson, HasEveryValueUnderItsOwnName) {
  Metrics metrics;
  const std::vector<std::pair<const char*, double*>> of_all{{"AP", &metrics.AP},
                                                            {"AP50", &metrics.AP50},
                                                            {"AP75", &metrics.AP75},
                                                            {"APs", &metrics.APs},
                                                            {"APm", &metrics.APm},
                                                            {"APl", &metrics.APl},
                                                            {"AR", &metrics.AR},
                                                            {"AR1", &metrics.AR1},
                                                            {"AR10", &metrics.AR10},
                                                            {"ARs", &metrics.ARs},
                                                            {"ARm", &metrics.ARm},
                                                            {"ARl", &metrics.ARl},
                                                            {"voc_AP50", &metrics.voc_AP50},
                                                            {"voc_AP50_11point", &metrics.voc_AP50_11point},
                                                            {"precision", &metrics.best.precision},
                                                            {"recall", &metrics.best.recall},
                                                            {"f1", &metrics.best.f1}};
  metrics.per_class.resize(1);
  ClassMetrics& one = metrics.per_class[0];
  const std::vector<std::pair<const char*, double*>> of_class{
      {"AP", &one.AP},      {"AP50", &one.AP50},          {"voc_AP50", &one.voc_AP50},
      {"f1", &one.best.f1}, {"recall", &one.best.recall}, {"precision", &one.best.precision}};
  double next = 0;
  for (const auto& values : {of_all, of_class}) {
    for (const auto& [name, value] : values) *value = next += 0.03125;
  }
  metrics.best.score = 0.375;
  one.best.score = 0.625;
  metrics.images = 3;
  metrics.truths = 4;
  metrics.detections = 5;
  one.truths = 6;
  const Json json = to_json(metrics);
  for (const auto& [name, value] : of_all) EXPECT_EQ(json.at(name), *value) << name;
  for (const auto& [name, value] : of_class) EXPECT_EQ(json["per_class"][0].at(name), *value) << name;
  EXPECT_EQ(json["score"], 0.375);
  EXPECT_EQ(json["per_class"][0]["score"], 0.625);
  EXPECT_EQ(json["images"], 3);
  EXPECT_EQ(json["truths"], 4);
  EXPECT_EQ(json["detections"], 5);
  EXPECT_EQ(json["per_class"][0]["truths"], 6);
  const Metrics again = metrics_from(json);
  EXPECT_EQ(again.best.recall, metrics.best.recall);
  EXPECT_EQ(again.best.precision, metrics.best.precision);
  EXPECT_EQ(again.best.score, 0.375);
}

}  // namespace
}  // namespace brightnet
