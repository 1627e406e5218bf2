// What a finished run's curves and scores say, in words, with the setting that usually helps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "detect/evaluate/metrics.h"
#include "train/report/metrics_csv.h"

namespace brightnet {

/// Scores of the same weights on images that they were trained on, without augmentation, and on validation images.
struct TrainingImages {
  Metrics training, validation;
};

/// How large the objects are for the network.
struct ObjectSizes {
  /// A quarter of the training boxes are smaller than this: √area in pixels of the network's input. 0: unknown.
  double small = 0;
  /// The side of a training image over that of the input: above 1 it has detail that the network does not see.
  double shrunk = 1;
  /// Prediction layers of the model.
  int heads = 0;
};

/// The facts that are known of a run when it has ended.
struct RunOutcome {
  MetricsTable curves;
  /// The metrics of the best evaluation. After a resume it may lack the confusion matrix.
  Metrics best;
  /// Objects of each class in the training split; empty: unknown.
  std::vector<int64_t> training_objects;
  /// The run ended early, by train.patience.
  bool stopped_early = false;
  /// Share of the training boxes that an anchor fits (AnchorFit), where that is known and the anchors are given: the
  /// automatic ones fit as they can.
  std::optional<double> anchor_recall;
  /// The scores of the last weights on training images, where there was time for them.
  std::optional<TrainingImages> training_images;
  ObjectSizes sizes;
};

/// Returns at most four sentences, the most important first; none for a run in which nothing stands out.
std::vector<std::string> closing_words(const RunOutcome& run);

}  // namespace brightnet
