#include "train/formats/onnx/export.h"

#include <limits>

#include "core/files.h"
#include "train/formats/onnx/model.h"

namespace brightnet {
namespace {

OnnxTensor description(const onnx::ValueInfoProto& value) {
  OnnxTensor tensor{value.name(), "float32", {}};
  for (const auto& side : value.type().tensor_type().shape().dim())
    tensor.shape.push_back(side.has_dim_value() ? std::to_string(side.dim_value()) : side.dim_param());
  return tensor;
}

}  // namespace

OnnxSummary export_onnx(const TrainedModel& trained, const OnnxOptions& options,
                        const std::filesystem::path& file) {
  const onnx::ModelProto model = make_onnx_model(trained, options);
  OnnxSummary summary;
  summary.bytes = model.ByteSizeLong();
  if (summary.bytes > std::numeric_limits<int32_t>::max()) {
    throw InputError(
        "the network takes " + std::to_string(summary.bytes) + " bytes, and an ONNX file holds 2 GiB",
        file.string());
  }
  write_atomically(file, [&](std::ostream& out) {
    // A failure to write shows in the stream's state, which write_atomically() checks.
    (void)model.SerializeToOstream(&out);
  });
  summary.nodes = static_cast<size_t>(model.graph().node_size());
  for (const auto& input : model.graph().input()) summary.inputs.push_back(description(input));
  for (const auto& output : model.graph().output()) summary.outputs.push_back(description(output));
  return summary;
}

}  // namespace brightnet
