// The answer of `eval --json`, a documented shape that scripts may rely on:
//
//   {"AP", "AP50", "AP75", "APs", "APm", "APl", "AR", "per_class": [{"name", "AP", "AP50", "truths"}],
//   "images"}
//
// and, beyond these, "AR1", "AR10", "ARs", "ARm", "ARl", "voc_AP50", "voc_AP50_11point", "truths",
// "detections", and in each class "voc_AP50", "precision", "recall", "f1" and "score" (at the best F1). A
// metric without anything to be found is -1, as in pycocotools. Keys are never renamed or removed; new ones
// may come.
#pragma once

#include "core/json.h"
#include "train/evaluate/metrics.h"

namespace brightnet {

Json to_json(const Metrics& metrics);
/// The metrics that such JSON was made from, but for their curves and confusion matrix, which are not in it.
/// Throws nlohmann::json::exception for other JSON.
Metrics metrics_from(const Json& json);

}  // namespace brightnet
