// An evaluation of trained weights on a split of a data set: what `eval` runs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "detect/evaluate/evaluate.h"
#include "detect/inference.h"
#include "train/config/config.h"
#include "train/distributed/communicator.h"
#include "train/setup/run_facts.h"

namespace brightnet {

struct EvaluationRequest {
  std::string config = {};  ///< CONFIG.yaml or X.cfg; empty: what the overrides say
  Overrides overrides = {};
  Split split = Split::val;
  /// Opens the weights; `classes` are the data set's, for weights that have no names of their own.
  std::function<TrainedModel(const std::vector<std::string>& classes)> open_weights = {};
  std::string weights_name = {};  ///< for messages
  std::string tiles = {};         ///< what --tiles takes; empty: as the configuration says
  int batch = 8;                  ///< images; fewer where a rank has fewer
  InputSize size = 0;             ///< of the input; 0: as recorded in the weights
  bool rect = false;              ///< rectangular batches
};

class WeightsEvaluation {
 public:
  /// Reads the data, opens device and weights, and plans the network. All ranks call it; errors are theirs alone. Throws
  /// InputError, also for classes that are not those of the data set, and DeviceError.
  WeightsEvaluation(const EvaluationRequest& request, const RankDevice& device, const Communicator& ranks);

  /// The metrics over the images of all ranks, or none when `sink` has stopped on one of them. Throws InputError for
  /// weights that are finite and so large that what the network computes is not.
  std::optional<Metrics> run(const DetectionSink& sink, Communicator& ranks);

  const RunConfig& config() const { return config_; }
  const Dataset& dataset() const { return dataset_; }

 private:
  void match_classes_by_name(const std::string& weights, bool speaks);

  std::string weights_name_;
  RunConfig config_;
  Dataset dataset_;
  std::unique_ptr<Backend> backend_;
  std::optional<InferenceNetwork> inference_;
  DetectOptions options_;
};

}  // namespace brightnet
