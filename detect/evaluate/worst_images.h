// The images of a split on which a detector does worst: where labels and detector disagree, one of them
// is wrong.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "detect/evaluate/verdicts.h"

namespace brightnet {

/// An image and its detections of at least the confidence threshold.
struct JudgedImage {
  /// Of the image in its data set.
  int index = 0;
  /// ImageVerdicts::badness().
  double badness = 0;
  std::vector<ScoredBox> boxes;
};

/// Keeps the worst of the images it is given: the same ones for any order and any division among ranks.
class WorstImages {
 public:
  explicit WorstImages(size_t count, VerdictOptions options = {}) : count_(count), options_(options) {}

  void add(int index, std::span<const ScoredBox> boxes, std::span<const Annotation> truths);
  /// For merge() in another process of the same byte order.
  std::string serialize() const;
  void merge(std::string_view serialized);

  /// The worst first; of equally bad ones the first in the data set.
  const std::vector<JudgedImage>& images() const { return images_; }
  const VerdictOptions& options() const { return options_; }

 private:
  void insert(JudgedImage image);

  size_t count_;
  VerdictOptions options_;
  std::vector<JudgedImage> images_;
};

}  // namespace brightnet
