// An evaluation of trained weights on a split of a data set: what `eval` runs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "brightnet/evaluate.h"
#include "detect/evaluate/evaluate.h"
#include "detect/inference.h"
#include "train/config/config.h"
#include "train/distributed/communicator.h"
#include "train/setup/automatic_facts.h"

namespace brightnet {

/// Opens the weights; `classes` are the data set's, for weights that have no names of their own.
using OpenWeights = std::function<TrainedModel(const std::vector<std::string>& classes)>;

class WeightsEvaluation {
 public:
  /// Reads the data, opens device and weights, and plans the network. All ranks call it; errors are theirs alone. Throws
  /// InputError, also for classes that are not those of the data set, and DeviceError.
  WeightsEvaluation(const WeightsReportOptions& options, const OpenWeights& open_weights,
                    const RankDevice& device, const Communicator& ranks);

  /// The metrics over the images of all ranks, or none when `sink` has stopped on one of them. Throws InputError for
  /// weights that are finite and so large that what the network computes is not.
  std::optional<Metrics> run(const DetectionSink& sink, Communicator& ranks);

  const RunConfig& config() const { return config_; }
  const Dataset& dataset() const { return dataset_; }
  /// The weights, as the device has them: without their values.
  const TrainedModel& trained() const { return inference_->trained(); }

 private:
  void match_classes_by_name(const std::string& weights, bool speaks);

  std::string weights_name_;
  RunConfig config_;
  Dataset dataset_;
  std::unique_ptr<Backend> backend_;
  std::optional<InferenceNetwork> inference_;
  PipelineOptions options_;
};

}  // namespace brightnet
