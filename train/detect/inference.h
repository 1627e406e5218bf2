// A trained network, ready to look at images: what `eval` and `detect` run.
#pragma once

#include <memory>

#include "layers/network.h"
#include "train/formats/weights.h"

namespace brightnet {

class InferenceNetwork {
 public:
  /// Plans for `batch` images of this size; 0: the one it was evaluated at. `loss`: it also
  /// computes the loss of its predictions, where there is ground truth.
  InferenceNetwork(TrainedModel trained, Backend& backend, Precision precision, int batch,
                   const InputSize& size,                   bool loss = false);

  Network& network() { return *network_; }
  /// Without its values, which are in the device's memory.
  const TrainedModel& trained() const { return trained_; }
  InputSize size() const { return network_->setup().size(); }
  /// How images are fitted into the network's input.
  InputFit fit() const { return {size(), trained_.letterbox, trained_.resize, trained_.model.channels}; }
  void set_resize(Resize resize) { trained_.resize = resize; }
  void set_letterbox(bool letterbox) { trained_.letterbox = letterbox; }

 private:
  TrainedModel trained_;
  DeviceBuffer values_, arena_;
  Parameters parameters_;
  std::unique_ptr<Network> network_;
};

}  // namespace brightnet
