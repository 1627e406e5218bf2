// The `evaluate:` section: when a run evaluates its network, and which evaluation has the best weights.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/auto.h"
#include "core/config.h"
#include "core/input_size.h"
#include "detect/nms.h"

namespace brightnet {

enum class BestBy : uint8_t { AP, AP50 };
constexpr std::string_view enum_name(BestBy score) {
  switch (score) {
    case BestBy::AP: return "AP";
    case BestBy::AP50: return "AP50";
  }
  return {};
}

/// The `evaluate:` section.
struct EvaluateOptions {
  /// Epochs between evaluations; the last epoch is always evaluated.
  Auto<int> every;
  /// First epoch (from 1) that is evaluated.
  int start = 1;
  /// Batch size; 0: the micro-batch.
  int batch = 0;
  /// Size of the network's input; 0: train.size.
  InputSize size = 0;
  /// The metric that selects the best weights.
  BestBy best_by = BestBy::AP;
  /// Evaluations that the score is averaged over, the newest with the greatest weight; 1: none but itself.
  int smooth = 3;
  NmsOptions nms{.kind = NmsMethod::model};
  void fields(Fields& f);
};

}  // namespace brightnet
