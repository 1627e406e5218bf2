// The output of `eval --json`, a documented format that scripts may rely on:
//
//   {"AP", "AP50", "AP75", "APs", "APm", "APl", "AR", "per_class": [{"name", "AP", "AP50", "truths"}],
//   "images"}
//
// and, beyond these, "AR1", "AR10", "ARs", "ARm", "ARl", "voc_AP50", "voc_AP50_11point", "truths",
// "detections", and in each class "voc_AP50", "precision", "recall", "f1" and "score" (at the best F1). A
// metric without ground truth is -1, as in pycocotools. Keys are never renamed or removed; new ones
// may be added.
#pragma once

#include "core/json.h"
#include "detect/evaluate/metrics.h"

namespace brightnet {

Json to_json(const Metrics& metrics);
/// Reads such JSON, which has neither curves nor confusion matrix. Throws nlohmann::json::exception if it
/// is malformed.
Metrics metrics_from(const Json& json);

}  // namespace brightnet
