#include "detect/evaluate/metrics_json.h"

#include <concepts>

namespace brightnet {
namespace {

/// Calls `visit` with the key and value of each member but the score, in the documented order.
template <typename Class, typename Visit>
void for_each_of_class(Class& c, Visit&& visit) {
  visit("name", c.name);
  visit("AP", c.AP);
  visit("AP50", c.AP50);
  visit("truths", c.truths);
  visit("voc_AP50", c.voc_AP50);
  visit("precision", c.best.precision);
  visit("recall", c.best.recall);
  visit("f1", c.best.f1);
}

template <typename M, typename Visit>
void for_each_member(M& metrics, Visit&& visit) {
  visit("AP", metrics.AP);
  visit("AP50", metrics.AP50);
  visit("AP75", metrics.AP75);
  visit("APs", metrics.APs);
  visit("APm", metrics.APm);
  visit("APl", metrics.APl);
  visit("AR", metrics.AR);
  visit("per_class", metrics.per_class);
  visit("images", metrics.images);
  visit("AR1", metrics.AR1);
  visit("AR10", metrics.AR10);
  visit("ARs", metrics.ARs);
  visit("ARm", metrics.ARm);
  visit("ARl", metrics.ARl);
  visit("voc_AP50", metrics.voc_AP50);
  visit("voc_AP50_11point", metrics.voc_AP50_11point);
  visit("truths", metrics.truths);
  visit("detections", metrics.detections);
}

template <typename Value>
void read(const Json& json, Value& value) {
  if constexpr (std::integral<Value>) {
    value = whole_number<Value>(json);
  } else {
    json.get_to(value);
  }
}

}  // namespace

static void to_json(Json& json, const ClassMetrics& c) {
  for_each_of_class(c, [&](const char* key, const auto& value) { json[key] = value; });
  json["score"] = shortest(static_cast<float>(c.best.score));
}

static void from_json(const Json& json, ClassMetrics& c) {
  for_each_of_class(c, [&](const char* key, auto& value) { read(json.at(key), value); });
  json.at("score").get_to(c.best.score);
}

Json to_json(const Metrics& metrics) {
  Json json;
  for_each_member(metrics, [&](const char* key, const auto& value) { json[key] = value; });
  json["precision"] = metrics.best.precision;
  json["recall"] = metrics.best.recall;
  json["f1"] = metrics.best.f1;
  json["score"] = shortest(static_cast<float>(metrics.best.score));
  if (metrics.loss) {
    json["loss"] = {{"box", metrics.loss->box},
                    {"objectness", metrics.loss->objectness},
                    {"class", metrics.loss->classes},
                    {"total", metrics.loss->total()}};
  }
  return json;
}

Metrics metrics_from(const Json& json) {
  Metrics metrics;
  for_each_member(metrics, [&](const char* key, auto& value) { read(json.at(key), value); });
  if (json.contains("score")) {  // older versions did not write it
    metrics.best = {json.at("precision").get<double>(), json.at("recall").get<double>(),
                    json.at("f1").get<double>(), json.at("score").get<double>()};
  }
  if (json.contains("loss")) {
    const Json& loss = json.at("loss");
    metrics.loss = MeanLoss{number_or_nan(loss.at("box")), number_or_nan(loss.at("objectness")),
                            number_or_nan(loss.at("class"))};
  }
  return metrics;
}

}  // namespace brightnet
