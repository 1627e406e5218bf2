// What became of each detection and each object of an image, at one confidence threshold and one IoU: what
// the confusion matrix counts, and what pictures of detections show.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "detect/evaluate/matching.h"

namespace brightnet {

enum class Verdict : uint8_t {
  correct,
  /// A detection and the object it covers are of different classes.
  wrong_class,
  /// A detection of an object that another detection is matched with.
  duplicate,
  /// A detection where there is no object.
  false_alarm,
  /// An object without a detection.
  missed,
  /// A detection below the threshold or of a crowd; a crowd.
  not_counted,
};

struct VerdictOptions {
  float score = 0.25f;  ///< minimum score of a detection
  float iou = 0.5f;     ///< minimum IoU of a match
};

struct ImageVerdicts {
  std::vector<Verdict> detections, truths;
  /// The index of each detection's truth; −1: none.
  std::vector<int> truth_of;

  /// How bad the image is: objects missed or of the wrong class count 1 each, false alarms and duplicates
  /// their scores, as a confident false alarm is the likelier error of the labels.
  double badness(std::span<const ScoredBox> boxes) const;
};

/// Matches detections with ground truth one to one, regardless of class, highest IoU first. Crowds, and
/// unmatched detections that overlap one, are not counted.
ImageVerdicts judge(std::span<const ScoredBox> detections, std::span<const Annotation> truths,
                    const VerdictOptions& options);

}  // namespace brightnet
