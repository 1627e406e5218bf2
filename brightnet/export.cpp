#include "brightnet/export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/enum_names.h"
#include "core/files.h"
#include "core/host_memory.h"
#include "core/json.h"
#include "core/log.h"
#include "core/text.h"
#include "formats/darknet/export.h"
#include "formats/onnx/export.h"
#include "formats/onnx/server_files.h"

namespace brightnet {
namespace {

std::string description(const OnnxTensor& tensor) {
  return fmt::format("{} {} [{}]", tensor.name, tensor.type, fmt::join(tensor.shape, ", "));
}

OnnxOptions onnx_options(const OnnxExportOptions& options) {
  const auto heads = enum_value<OnnxHeads>(options.heads);
  const auto refuse = [](const std::string& what, const char* option) {
    throw InputError(what, std::string("OnnxExportOptions::") + option);
  };
  const auto is_share = [](float value) { return value >= 0 && value <= 1; };
  if (!heads) refuse("there are no heads '" + options.heads + "'", "heads");
  if (options.batch < 0) refuse("a batch must be at least 1, or 0 for a dynamic one", "batch");
  if (options.height < 0 || options.width < 0 || (options.height == 0) != (options.width == 0))
    refuse("height and width must both be above 0, or both be 0 for those of the weights", "height");
  if (!is_share(options.confidence)) refuse("confidence must be from 0 to 1", "confidence");
  if (!is_share(options.nms)) refuse("nms must be an IoU from 0 to 1", "nms");
  OnnxOptions onnx{.heads = *heads,
                   .batch = options.batch,
                   .opset = options.opset,
                   .score = options.confidence,
                   .iou = options.nms};
  if (options.height > 0) onnx.size = InputSize(options.height, options.width);
  return onnx;
}

OnnxSummary write_onnx(const Weights& weights, const std::filesystem::path& file,
                       const OnnxOptions& options) {
  const OnnxSummary summary = export_onnx(weights.trained(), options, file);
  log::result("Wrote {}: {}, {}, opset {}, {} operators", file.string(), weights.model(),
              format_bytes(static_cast<double>(summary.bytes)), options.opset, summary.nodes);
  for (const OnnxTensor& input : summary.inputs) log::result("  input   {}", description(input));
  for (const OnnxTensor& output : summary.outputs) log::result("  output  {}", description(output));
  if (are_suppressed(options.heads) && read_onnx_metadata(file).suppression == NmsKind::diou) {
    log::warn(
        "The model uses DIoU-NMS, but ONNX's operator uses plain IoU and keeps fewer overlapping boxes. "
        "Use --heads decoded if that matters.");
  }
  return summary;
}

Server server_named(const std::string& name) {
  const auto server = enum_value<Server>(name);
  if (!server) throw InputError("there is no server '" + name + "'", "export_for()");
  return *server;
}

}  // namespace

std::vector<std::string> onnx_heads() {
  return enum_names<OnnxHeads>();
}

std::vector<std::string> darknet_numbers() {
  return enum_names<DarknetNumbers>();
}

std::vector<std::string> servers() {
  return enum_names<Server>();
}

void export_onnx(const Weights& weights, const std::filesystem::path& file,
                 const OnnxExportOptions& options) {
  write_onnx(weights, file, onnx_options(options));
}

std::vector<std::filesystem::path> files_for(const std::string& server) {
  const Server known = server_named(server);
  std::vector<std::filesystem::path> files{network_place(known)};
  for (const auto& [name, content] : server_files(known, "", {}, {}, {})) files.emplace_back(name);
  return files;
}

void export_for(const std::string& server, const Weights& weights, const std::filesystem::path& folder,
                const OnnxExportOptions& options) {
  const Server known = server_named(server);
  const OnnxOptions onnx = onnx_options(options);
  check_for(known, onnx, !weights.trained().model.quantization.empty());
  const std::filesystem::path file = folder / network_place(known);
  const OnnxSummary network = write_onnx(weights, file, onnx);
  // Of "." and "models/.." too, which have no name of their own.
  const std::string name = without_slash(std::filesystem::absolute(folder)).filename().string();
  for (const auto& [place, content] : server_files(known, name, onnx, network, read_onnx_metadata(file))) {
    write_atomically(folder / place, content);
    log::result("Wrote {}", (folder / place).string());
  }
}

void export_safetensors(const Weights& weights, const std::filesystem::path& file, bool half) {
  save_weights(file, weights.trained(), half);
  log::info("Wrote {}: {}, {} parameters{}{}", file.string(), weights.model(), weights.parameters(),
            half ? ", the weights in fp16" : "",
            weights.trained().model.quantization.empty() ? "" : ", with the scales of int8");
}

bool is_onnx_export(const std::filesystem::path& file) {
  try {
    read_onnx_metadata(file);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

std::string describe_onnx(const std::filesystem::path& file) {
  Json answer = Json::object();
  for (const auto& [key, text] : to_properties(read_onnx_metadata(file))) {
    const bool plain =
        key == "format" || key == "format_version" || key == "model" || key == "outputs" || key == "tiles";
    answer[key] = plain ? Json(text) : Json::parse(text);
  }
  return to_text(answer);
}

void export_darknet(const Weights& weights, const std::filesystem::path& folder, const std::string& name,
                    const std::string& numbers) {
  if (name.empty()) throw InputError("the name of the files is empty", "export_darknet()");
  const TrainedModel& trained = weights.trained();
  // Weights imported from darknet are written unchanged.
  const DarknetNumbers usual = as_darknet(trained.resize) ? DarknetNumbers::kept : DarknetNumbers::scaled;
  const auto chosen = numbers.empty() ? usual : enum_value<DarknetNumbers>(numbers);
  if (!chosen) throw InputError("there are no numbers '" + numbers + "'", "", "They are kept or scaled.");
  const DarknetFiles files = export_darknet(folder, name, trained, *chosen);
  log::result("Wrote {}, {} and {}: {}, {}, input {}{}", files.cfg.string(), files.weights.string(),
              files.names.string(), trained.model.name,
              counted(std::ssize(trained.classes), "class", "classes"), trained.size.described(),
              trained.letterbox ? ", letterboxed" : "");
  log::info(
      "{}",
      are_scaled(*chosen)
          ? "The weights are scaled so that OpenCV and darknet compute the same; --numbers kept writes "
            "them unchanged."
          : "The numbers are those of the weights given, unchanged; with --numbers scaled OpenCV computes the same as darknet.");
  if (!trained.model.quantization.empty()) {
    log::warn(
        "darknet's files cannot hold these weights' scales of int8: what is written computes in floating point alone. For "
        "int8 use --format onnx or safetensors.");
  }
}

}  // namespace brightnet
