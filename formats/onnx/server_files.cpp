#include "formats/onnx/server_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/onnx/deepstream_parser.h"

namespace brightnet {
namespace {

/// Images at once where the network takes any number.
constexpr int largest_batch = 32;

std::string names_of(const std::vector<std::string>& classes) {
  return fmt::format("{}\n", fmt::join(classes, "\n"));
}

/// The sides, without the batch where Triton puts it first itself. What is known only when it runs is −1.
std::string triton_sides(const OnnxTensor& tensor, bool batched) {
  std::vector<std::string> sides;
  for (size_t i = batched ? 1 : 0; i < tensor.shape.size(); ++i) {
    const bool number = tensor.shape[i].find_first_not_of("0123456789") == std::string::npos;
    sides.push_back(number && !tensor.shape[i].empty() ? tensor.shape[i] : "-1");
  }
  return fmt::format("{}", fmt::join(sides, ", "));
}

/// The text as a string of Protobuf's text format holds it.
std::string protobuf_text(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

std::string triton_config(const std::string& name, const OnnxOptions& options, const OnnxSummary& network) {
  // The detections after NMS are of all images together.
  const bool batched = options.batch == 0 && !are_suppressed(options.heads);
  const auto tensors = [&](const char* kind, const std::vector<OnnxTensor>& all) {
    std::vector<std::string> texts;
    for (const OnnxTensor& tensor : all) {
      const char* labels = tensor.name == "scores" ? "\n    label_filename: \"labels.txt\"" : "";
      texts.push_back(
          fmt::format("  {{\n    name: \"{}\"\n    data_type: TYPE_FP32\n    dims: [ {} ]{}\n  }}",
                      tensor.name, triton_sides(tensor, batched), labels));
    }
    return fmt::format("{} [\n{}\n]\n", kind, fmt::join(texts, ",\n"));
  };
  return fmt::format("name: \"{}\"\nplatform: \"onnxruntime_onnx\"\nmax_batch_size: {}\n",
                     protobuf_text(name), batched ? largest_batch : 0) +
         tensors("input", network.inputs) + tensors("output", network.outputs) +
         (batched ? "dynamic_batching { }\n" : "");
}

std::string deepstream_config(const OnnxOptions& options, const OnnxMetadata& metadata) {
  return fmt::format(
      "# For nvinfer: docs/deploy.md of brightnet, \"DeepStream\". Paths are relative to this file.\n"
      "[property]\n"
      "gpu-id=0\n"
      "gie-unique-id=1\n"
      "process-mode=1\n"
      "network-type=0\n"
      "onnx-file=model.onnx\n"
      "labelfile-path=labels.txt\n"
      "num-detected-classes={}\n"
      "infer-dims={};{};{}\n"
      "batch-size={}\n"
      "# 0: fp32, 2: fp16\n"
      "network-mode=2\n"
      "# Values from 0 to 1; 0: RGB, 2: grey\n"
      "net-scale-factor=0.00392156862745098\n"
      "model-color-format={}\n"
      "maintain-aspect-ratio={}\n"
      "symmetric-padding={}\n"
      "# Suppressed by nvinfer, by the values below\n"
      "cluster-mode=2\n"
      "parse-bbox-func-name=NvDsInferParseBrightnet\n"
      "custom-lib-path=libnvdsparse_brightnet.so\n"
      "\n"
      "[class-attrs-all]\n"
      "pre-cluster-threshold={}\n"
      "nms-iou-threshold={}\n"
      "topk={}\n",
      metadata.classes.size(), metadata.channels, metadata.size.height, metadata.size.width,
      options.batch > 0 ? options.batch : largest_batch, metadata.channels == 3 ? 0 : 2,
      metadata.letterbox ? 1 : 0, metadata.letterbox ? 1 : 0, options.score, options.iou,
      options.max_detections);
}

}  // namespace

std::filesystem::path network_place(Server server) {
  switch (server) {
    case Server::triton: return "1/model.onnx";
    case Server::deepstream: return "model.onnx";
  }
  return {};
}

std::map<std::string, std::string> server_files(Server server, const std::string& name,
                                                const OnnxOptions& options, const OnnxSummary& network,
                                                const OnnxMetadata& metadata) {
  switch (server) {
    case Server::triton:
      return {{"config.pbtxt", triton_config(name, options, network)},
              {"labels.txt", names_of(metadata.classes)}};
    case Server::deepstream:
      return {{"config_infer.txt", deepstream_config(options, metadata)},
              {"labels.txt", names_of(metadata.classes)},
              {"nvdsparse_brightnet.cpp", deepstream_parser}};
  }
  return {};
}

void check_for(Server server, const OnnxOptions& options, bool quantized) {
  if (server != Server::deepstream) return;
  if (options.heads != OnnxHeads::decoded) {
    throw InputError("DeepStream's nvinfer suppresses doubles itself, and is given boxes and scores",
                     "--heads", "Leave it out.");
  }
  if (quantized) {
    throw InputError(
        "nvinfer takes 8 bits by a calibration file of TensorRT's, not from the scales in an ONNX file",
        "--int8",
        "Export in floating point; or build an engine from the ONNX file with trtexec, and name it as "
        "model-engine-file.");
  }
}

}  // namespace brightnet
