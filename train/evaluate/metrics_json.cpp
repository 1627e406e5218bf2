#include "train/evaluate/metrics_json.h"

namespace brightnet {

Json to_json(const Metrics& metrics) {
  Json classes = Json::array();
  for (const ClassMetrics& c : metrics.per_class) {
    classes.push_back({{"name", c.name},
                       {"AP", c.AP},
                       {"AP50", c.AP50},
                       {"truths", c.truths},
                       {"voc_AP50", c.voc_AP50},
                       {"precision", c.best.precision},
                       {"recall", c.best.recall},
                       {"f1", c.best.f1},
                       {"score", shortest(static_cast<float>(c.best.score))}});
  }
  return {{"AP", metrics.AP},
          {"AP50", metrics.AP50},
          {"AP75", metrics.AP75},
          {"APs", metrics.APs},
          {"APm", metrics.APm},
          {"APl", metrics.APl},
          {"AR", metrics.AR},
          {"per_class", std::move(classes)},
          {"images", metrics.images},
          {"AR1", metrics.AR1},
          {"AR10", metrics.AR10},
          {"ARs", metrics.ARs},
          {"ARm", metrics.ARm},
          {"ARl", metrics.ARl},
          {"voc_AP50", metrics.voc_AP50},
          {"voc_AP50_11point", metrics.voc_AP50_11point},
          {"truths", metrics.truths},
          {"detections", metrics.detections}};
}

Metrics metrics_from(const Json& json) {
  Metrics metrics;
  const auto read = [](const Json& from, const char* key, auto& value) { from.at(key).get_to(value); };
  for (const Json& one : json.at("per_class")) {
    ClassMetrics& c = metrics.per_class.emplace_back();
    read(one, "name", c.name);
    read(one, "AP", c.AP);
    read(one, "AP50", c.AP50);
    read(one, "truths", c.truths);
    read(one, "voc_AP50", c.voc_AP50);
    read(one, "precision", c.best.precision);
    read(one, "recall", c.best.recall);
    read(one, "f1", c.best.f1);
    read(one, "score", c.best.score);
  }
  read(json, "AP", metrics.AP);
  read(json, "AP50", metrics.AP50);
  read(json, "AP75", metrics.AP75);
  read(json, "APs", metrics.APs);
  read(json, "APm", metrics.APm);
  read(json, "APl", metrics.APl);
  read(json, "AR", metrics.AR);
  read(json, "images", metrics.images);
  read(json, "AR1", metrics.AR1);
  read(json, "AR10", metrics.AR10);
  read(json, "ARs", metrics.ARs);
  read(json, "ARm", metrics.ARm);
  read(json, "ARl", metrics.ARl);
  read(json, "voc_AP50", metrics.voc_AP50);
  read(json, "voc_AP50_11point", metrics.voc_AP50_11point);
  read(json, "truths", metrics.truths);
  read(json, "detections", metrics.detections);
  return metrics;
}

}  // namespace brightnet
