#include "brightnet/export.h"

#include "formats/darknet/export.h"
#include "formats/onnx/export.h"

namespace brightnet {
namespace {

OnnxHeads heads_of(ExportedHeads heads) {
  switch (heads) {
    case ExportedHeads::raw: return OnnxHeads::raw;
    case ExportedHeads::decoded: return OnnxHeads::decoded;
    case ExportedHeads::nms: return OnnxHeads::nms;
  }
  throw InputError("there are no such heads", "OnnxExportOptions::heads");
}

}  // namespace

void export_onnx(const Weights& weights, const std::filesystem::path& file,
                 const OnnxExportOptions& options) {
  OnnxOptions onnx;
  onnx.heads = heads_of(options.heads);
  if (options.height > 0) onnx.size = InputSize(options.height, options.width);
  onnx.batch = options.batch;
  if (options.opset > 0) onnx.opset = options.opset;
  onnx.score = options.confidence;
  onnx.iou = options.nms;
  export_onnx(weights.trained(), onnx, file);
}

void export_darknet(const Weights& weights, const std::filesystem::path& folder, const std::string& name,
                    bool unchanged) {
  export_darknet(folder, name, weights.trained(), unchanged ? DarknetNumbers::kept : DarknetNumbers::scaled);
}

}  // namespace brightnet
