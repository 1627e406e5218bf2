// A trained network, ready to look at images: what `eval` and `detect` run.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "detect/inference_engine.h"
#include "detect/onnx_engine.h"
#include "detect/pipeline.h"
#include "formats/weights.h"
#include "layers/network.h"

namespace brightnet {

struct InferenceSetup {
  Precision precision = Precision::fp32;
  int batch = 1;
  InputSize size = {};     ///< size of the network's input; 0: the one it was evaluated at
  bool with_loss = false;  ///< also compute the loss of the predictions, where there is ground truth
  LayerObserver* observer = nullptr;
};

class InferenceNetwork {
 public:
  /// Throws InputError when the plan is larger than the memory.
  InferenceNetwork(TrainedModel trained, Backend& backend, const InferenceSetup& setup);

  /// Runs an exported network.
  explicit InferenceNetwork(std::unique_ptr<OnnxEngine> exported)
      : trained_(exported->description()), engine_(std::move(exported)) {}

  InferenceNetwork(const InferenceNetwork&) = delete;
  InferenceNetwork& operator=(const InferenceNetwork&) = delete;

  /// The engine that computes the network: one of our own for inputs of any size of the same batch.
  InferenceEngine& engine() { return *engine_; }
  /// The network itself, for inputs of size(); not of an exported one.
  Network& network() { return network(size()); }
  /// The model without its values, which are in the device's memory.
  const TrainedModel& trained() const { return trained_; }
  InputSize size() const { return engine_->size(); }
  /// How images are fitted into the network's input.
  InputFit fit() const { return {size(), trained_.letterbox, trained_.resize, trained_.model.channels}; }
  void set_resize(Resize resize) { trained_.resize = resize; }
  /// Prepares for rectangular batches, in which images are letterboxed. Throws InputError where there can be none: with
  /// darknet's resize, and of an exported network.
  void begin_rect();
  /// The views of `eval --augment`. Throws InputError for an exported network, whose input has one size.
  std::vector<InferenceView> views() const;
  void set_letterbox(bool letterbox) { trained_.letterbox = letterbox; }

 private:
  void require_memory_of(const Network& network, size_t values) const;
  /// The network for inputs of this size. They share the memory of the first, and the one that was asked for last is bound
  /// to it.
  Network& network(const InputSize& size);
  void refuse_other_sizes(const char* option) const;

  TrainedModel trained_;
  DeviceBuffer values_, arena_;
  Parameters parameters_;
  std::unique_ptr<Network> network_;  ///< null for an exported network
  std::map<InputSize, std::unique_ptr<Network>> others_;
  Network* bound_ = nullptr;
  std::unique_ptr<InferenceEngine> engine_;
};

/// Tells that weights with the scales of int8 are computed in another precision, where the user has not chosen one.
void say_scales_are_not_used(const TrainedModel& trained, Precision precision);

}  // namespace brightnet
