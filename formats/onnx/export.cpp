#include "formats/onnx/export.h"

#include <algorithm>
#include <limits>

#include "core/files.h"
#include "core/host_memory.h"
#include "core/require_memory.h"
#include "formats/onnx/model.h"

namespace brightnet {
namespace {

/// Throws where there is no room for so large a file or for its graph, which copies the parameters as well.
void require_room(const TrainedModel& trained, size_t bytes, const std::filesystem::path& file) {
  if (bytes > std::numeric_limits<int32_t>::max()) {
    throw InputError(
        "the network takes " + format_bytes(static_cast<double>(bytes)) + ", and an ONNX file holds 2 GiB",
        file.string());
  }
  require_memory("the ONNX graph of '" + trained.model.name + "'", bytes, free_memory_of_host(),
                 [] { return "Free some memory, or export on a machine with more."; });
}

/// Bytes of constants that decoded heads repeat for each image of a fixed batch: two numbers a prediction.
size_t repeated_bytes(const TrainedModel& trained, const OnnxOptions& options) {
  if (!are_decoded(options.heads)) return 0;
  const InputSize& size = options.size.given() ? options.size : trained.size;
  const std::vector<double> scales = layer_scales(trained.model.layers);
  double predictions = 0;
  for (size_t i = 0; i < scales.size(); ++i) {
    if (const auto* yolo = std::get_if<YoloAttributes>(&trained.model.layers[i].attributes))
      predictions += size.height / scales[i] * (size.width / scales[i]) * yolo->head.mask_count;
  }
  return static_cast<size_t>(predictions * std::max(1, options.batch) * 2 * sizeof(float));
}

OnnxTensor description(const onnx::ValueInfoProto& value) {
  OnnxTensor tensor{value.name(), "float32", {}};
  for (const auto& side : value.type().tensor_type().shape().dim())
    tensor.shape.push_back(side.has_dim_value() ? std::to_string(side.dim_value()) : side.dim_param());
  return tensor;
}

}  // namespace

OnnxSummary export_onnx(const TrainedModel& trained, const OnnxOptions& options,
                        const std::filesystem::path& file) {
  require_room(trained,
               trained.layout.trainable_parameters() * sizeof(float) + repeated_bytes(trained, options),
               file);
  const onnx::ModelProto model = make_onnx_model(trained, options);
  OnnxSummary summary;
  summary.bytes = model.ByteSizeLong();
  require_room(trained, summary.bytes, file);
  if (std::error_code failed; file.has_parent_path()) create_folders(file.parent_path(), failed);
  write_atomically(file, [&](std::ostream& out) {
    // A failure to write shows in the stream's state, which write_atomically() checks.
    (void)model.SerializeToOstream(&out);
  });
  summary.nodes = model.graph().node_size();
  for (const auto& input : model.graph().input()) summary.inputs.push_back(description(input));
  for (const auto& output : model.graph().output()) summary.outputs.push_back(description(output));
  return summary;
}

}  // namespace brightnet
