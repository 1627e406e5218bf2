// What computes a network for the pipeline: inputs go in, candidates come out. It is the network itself, or an exported
// file that another library runs (detect/onnx_engine.h).
#pragma once

#include <functional>
#include <vector>

#include "core/box.h"
#include "data/image/placement.h"
#include "layers/network.h"

namespace brightnet {

class InferenceEngine {
 public:
  virtual ~InferenceEngine() = default;

  /// The inputs that it is planned for: how many images at once, of which size and with how many channels.
  virtual int batch() const = 0;
  virtual InputSize size() const = 0;
  virtual int channels() const = 0;
  /// The sides of rectangular inputs are multiples of it.
  virtual int stride() const = 0;
  virtual bool computes_loss() const = 0;

  /// The candidates of at least this score in each of batch() inputs that InputFiller (detect/fill_input.h) has filled for
  /// this fit.
  virtual std::vector<std::vector<Detection>> candidates(const void* inputs, const InputFit& fit,
                                                         float score) = 0;
  /// The losses of the inputs of the last call, given their ground truth. Only where it computes_loss().
  virtual std::vector<YoloLoss> losses(const std::vector<std::vector<Truth>>& truths) = 0;
};

/// The network for inputs of another size, of the same batch. It may share the memory of the others.
using NetworkOfSize = std::function<Network&(const InputSize&)>;

class NetworkEngine : public InferenceEngine {
 public:
  /// Runs `network`. With `of_size`, inputs may have other sizes than the network's. Both outlive the engine.
  explicit NetworkEngine(Network& network, NetworkOfSize of_size = {})
      : whole_(network), of_size_(std::move(of_size)) {}

  int batch() const override { return whole_.setup().batch; }
  InputSize size() const override { return whole_.setup().size(); }
  int channels() const override { return whole_.setup().model->channels; }
  int stride() const override { return whole_.setup().model->stride; }
  bool computes_loss() const override { return whole_.setup().loss_of_inference; }
  std::vector<std::vector<Detection>> candidates(const void* inputs, const InputFit& fit,
                                                 float score) override;
  std::vector<YoloLoss> losses(const std::vector<std::vector<Truth>>& truths) override;

 private:
  Network& whole_;
  NetworkOfSize of_size_;
  Network* last_ = nullptr;
};

}  // namespace brightnet
