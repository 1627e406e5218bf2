// Advice on which option to change when data loading slows training down.
#pragma once

#include <string>

#include "data/loader/loader.h"
#include "train/distributed/communicator.h"
#include "train/loop/training_observer.h"

namespace brightnet {

struct LoaderSituation {
  /// Fraction of the time that training waited for the loader.
  double waited = 0;
  LoaderOptions loader;
  /// Processors available to this rank.
  int processors = 1;
  /// The size of all training images, 3 bytes per pixel.
  double decoded_bytes = 0;
  /// Memory that this rank may use besides what it uses already, in bytes.
  double free_bytes = 0;
};

/// A sentence that names the option to change; empty while training waits less than a tenth of the time.
std::string loader_advice(const LoaderSituation& situation);

/// Bytes of all the images' pixels after decoding.
double decoded_bytes(const Dataset& dataset);

/// Gives a run that advice once, after the first epoch that needs it.
class LoaderAdvisor : public TrainingObserver {
 public:
  /// `train` and `communicator` outlive it.
  LoaderAdvisor(const LoaderOptions& loader, const Dataset& train, const Communicator& communicator);

  std::string name() const override { return "The advice on the loader"; }
  void epoch_ended(const EpochEnded& event) override;

 private:
  LoaderOptions loader_;
  const Dataset& train_;
  const Communicator& communicator_;
  bool advised_ = false;
};

}  // namespace brightnet
