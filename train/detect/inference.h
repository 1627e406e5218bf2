// A trained network, ready to look at images: what `eval` and `detect` run.
#pragma once

#include <memory>

#include "layers/network.h"
#include "train/formats/weights.h"

namespace brightnet {

class InferenceNetwork {
 public:
  /// Plans for `batch` images of `size` × `size`; size 0: the one it was evaluated at. `loss`: it also
  /// computes the loss of its predictions, where there is ground truth.
  InferenceNetwork(TrainedModel trained, Backend& backend, Precision precision, int batch, int size,
                   bool loss = false);

  Network& network() { return *network_; }
  /// Without its values, which are in the device's memory.
  const TrainedModel& trained() const { return trained_; }
  int size() const { return network_->setup().width; }
  /// How images are fitted into the network's input.
  InputFit fit() const { return {size(), trained_.letterbox, trained_.resize}; }
  void set_resize(Resize resize) { trained_.resize = resize; }
  void set_letterbox(bool letterbox) { trained_.letterbox = letterbox; }

 private:
  TrainedModel trained_;
  DeviceBuffer values_, arena_;
  Parameters parameters_;
  std::unique_ptr<Network> network_;
};

}  // namespace brightnet
