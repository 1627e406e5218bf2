// A trained network, ready to look at images: what `eval` and `detect` run.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "formats/weights.h"
#include "layers/network.h"

namespace brightnet {

class InferenceNetwork {
 public:
  /// Plans for `batch` images of this size; 0: the one it was evaluated at. `loss`: it also
  /// computes the loss of its predictions, where there is ground truth. Throws InputError when the plan is larger than
  /// the memory.
  InferenceNetwork(TrainedModel trained, Backend& backend, Precision precision, int batch,
                   const InputSize& size, bool loss = false, LayerObserver* observer = nullptr);

  Network& network() { return *network_; }
  /// The network for another size of the same batch, for rectangular batches. They share the memory of the first, and
  /// the one that was asked for last is bound to it.
  Network& network(const InputSize& size);
  /// Without its values, which are in the device's memory.
  const TrainedModel& trained() const { return trained_; }
  InputSize size() const { return network_->setup().size(); }
  /// How images are fitted into the network's input.
  InputFit fit() const { return {size(), trained_.letterbox, trained_.resize, trained_.model.channels}; }
  void set_resize(Resize resize) { trained_.resize = resize; }
  /// For rectangular batches images are letterboxed. Throws InputError for darknet's resize, which has none.
  std::function<Network&(const InputSize&)> begin_rect();
  void set_letterbox(bool letterbox) { trained_.letterbox = letterbox; }

 private:
  void require_memory_of(const Network& network, size_t values) const;

  TrainedModel trained_;
  DeviceBuffer values_, arena_;
  Parameters parameters_;
  std::unique_ptr<Network> network_;
  std::map<InputSize, std::unique_ptr<Network>> others_;
  Network* bound_ = nullptr;
};

}  // namespace brightnet
