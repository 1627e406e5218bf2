// A network that `brightnet export` has written, run by OpenCV's DNN module: what was deployed, measured as what was
// trained.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <opencv2/dnn.hpp>

#include "brightnet/weights.h"
#include "detect/inference_engine.h"
#include "formats/onnx/metadata.h"
#include "formats/weights.h"

namespace brightnet {

/// Whether a file is an exported network, by its name: "best.onnx".
bool is_onnx(const std::filesystem::path& file);

/// Runs an exported network on the CPU, in fp32, with OpenCV's threads.
class OnnxEngine : public InferenceEngine {
 public:
  /// Throws InputError for a file that is not an ONNX export of brightnet, whose outputs are not decoded boxes, or that
  /// OpenCV cannot read.
  explicit OnnxEngine(const std::filesystem::path& file);

  int batch() const override { return batch_; }
  InputSize size() const override { return metadata_.size; }
  int channels() const override { return metadata_.channels; }
  int stride() const override { return 1; }
  bool computes_loss() const override { return false; }
  std::vector<std::vector<Detection>> candidates(const void* inputs, const InputFit& fit,
                                                 float score) override;
  std::vector<YoloLoss> losses(const std::vector<std::vector<Truth>>& truths) override;

  /// The network as the file describes it: classes, input, NMS and tiles, without layers and values.
  TrainedModel description() const;

 private:
  OnnxMetadata metadata_;
  std::string file_;
  int batch_;
  cv::dnn::Net net_;
  cv::Mat input_;  ///< [batch, channels, height, width]
};

/// Opens what `--weights` names. Throws InputError for options that have no effect on it: another size than its own, a
/// device other than the CPU, a precision other than fp32, and darknet's files.
std::unique_ptr<OnnxEngine> open_exported(const WeightsFiles& files, const InputSize& size,
                                          const std::string& device, const std::string& precision);

}  // namespace brightnet
