// brightnet export: writes a trained network in formats of other programs.
#include "formats/darknet/export.h"

#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "core/enum_names.h"
#include "core/json.h"
#include "core/log.h"
#include "core/text.h"
#include "detect/outputs/output.h"
#include "formats/onnx/export.h"
#include "train/loop/memory.h"

namespace brightnet::cli {
namespace {

namespace fs = std::filesystem;

enum class ExportFormat : uint8_t { onnx, darknet };
constexpr std::string_view enum_name(ExportFormat format) {
  switch (format) {
    case ExportFormat::onnx: return "onnx";
    case ExportFormat::darknet: return "darknet";
  }
  return {};
}

struct ExportArguments {
  WeightsOptions weights;
  std::string format, out, describe;
  std::string heads = "decoded", batch = "1", numbers;
  OnnxOptions onnx;
  bool force = false;
  std::vector<std::string> onnx_only, nms_only, darknet_only;  ///< given options
};

void refuse_options(const std::vector<std::string>& given, const std::string& meaning) {
  if (given.empty()) return;
  throw InputError(fmt::format("{} is for {} only", fmt::join(given, " and "), meaning), "",
                   "Remove the option, or choose that format or output.");
}

int batch_of(const std::string& text) {
  if (text == "dynamic") return 0;
  int batch = 0;
  const bool number =
      !text.empty() && text.size() < 7 && text.find_first_not_of("0123456789") == std::string::npos;
  if (number) batch = std::stoi(text);
  if (batch < 1)
    throw InputError("'" + text + "' is not a batch size", "--batch", "Give a number of images, or dynamic.");
  return batch;
}

/// Protects other files from a mistyped --out: without --force only an earlier export is replaced.
void refuse_to_replace(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return;
  try {
    read_onnx_metadata(file);
  } catch (const InputError&) {
    throw InputError("a file of this name already exists and is not an ONNX export of brightnet",
                     file.string(), "Name another with --out, or replace it with --force.");
  }
}

/// Inputs are never replaced, even with --force.
std::vector<fs::path> inputs(const ExportArguments& arguments) {
  return {arguments.weights.weights, arguments.weights.cfg, arguments.weights.names};
}

std::string description(const OnnxTensor& tensor) {
  return fmt::format("{} {} [{}]", tensor.name, tensor.type, fmt::join(tensor.shape, ", "));
}

int export_as_onnx(const ExportArguments& arguments) {
  refuse_options(arguments.darknet_only, "--format darknet");
  OnnxOptions options = arguments.onnx;
  options.heads = enum_value<OnnxHeads>(arguments.heads).value();
  options.batch = batch_of(arguments.batch);
  if (!are_suppressed(options.heads)) refuse_options(arguments.nms_only, "--heads nms");
  const fs::path file = arguments.out.empty() ? fs::path(arguments.weights.weights).replace_extension(".onnx")
                                              : fs::path(arguments.out);
  refuse_to_replace_inputs({file}, inputs(arguments));
  if (!arguments.force) refuse_to_replace(file);
  const TrainedModel trained = arguments.weights.load();
  prepare_folder(file.parent_path(), "--out");
  const OnnxSummary summary = export_onnx(trained, options, file);
  log::info("Wrote {}: {}, {}, opset {}, {} operators", file.string(), trained.model.name,
            format_bytes(static_cast<double>(summary.bytes)), options.opset, summary.nodes);
  for (const OnnxTensor& input : summary.inputs) log::info("  input   {}", description(input));
  for (const OnnxTensor& output : summary.outputs) log::info("  output  {}", description(output));
  if (are_suppressed(options.heads) && read_onnx_metadata(file).suppression == NmsKind::diou) {
    log::warn(
        "The model uses DIoU-NMS, but ONNX's operator uses plain IoU and keeps fewer overlapping boxes. "
        "Use --heads decoded if that matters.");
  }
  return 0;
}

/// The path without extension: --out, or the name of the weights in the folder --out or next to the weights.
fs::path darknet_base(const ExportArguments& arguments) {
  const fs::path weights = fs::path(arguments.weights.weights).replace_extension();
  if (arguments.out.empty()) return weights;
  fs::path out = arguments.out;
  std::error_code error;
  if (!out.has_filename() || fs::is_directory(out, error)) return out / weights.filename();
  const fs::path ending = out.extension();
  if (ending == ".cfg" || ending == ".weights" || ending == ".names") out.replace_extension();
  return out;
}

int export_as_darknet(const ExportArguments& arguments) {
  refuse_options(arguments.onnx_only, "--format onnx");
  refuse_options(arguments.nms_only, "--format onnx");
  const fs::path base = darknet_base(arguments);
  for (const char* kind : {".cfg", ".weights", ".names"}) {
    const fs::path file = base.string() + kind;
    refuse_to_replace_inputs({file}, inputs(arguments));
    std::error_code error;
    if (arguments.force || !fs::exists(file, error)) continue;
    throw InputError("a file of this name already exists", file.string(),
                     "Name another with --out, or replace it with --force.");
  }
  const TrainedModel trained = arguments.weights.load();
  // Weights imported from darknet are written unchanged.
  const bool imported = as_darknet(trained.resize);
  prepare_folder(base.parent_path(), "--out");
  const DarknetNumbers numbers = enum_value<DarknetNumbers>(arguments.numbers)
                                     .value_or(imported ? DarknetNumbers::kept : DarknetNumbers::scaled);
  const DarknetFiles files = export_darknet(base.parent_path(), base.filename().string(), trained, numbers);
  log::info("Wrote {}, {} and {}: {}, {}, input {}{}", files.cfg.string(), files.weights.string(),
            files.names.string(), trained.model.name,
            counted(std::ssize(trained.classes), "class", "classes"), trained.size.described(),
            trained.letterbox ? ", letterboxed" : "");
  log::info(
      "{}",
      are_scaled(numbers)
          ? "The weights are scaled so that OpenCV and darknet compute the same; --numbers kept writes "
            "them unchanged."
          : "The weights are bit-identical; with --numbers scaled OpenCV computes the same as darknet.");
  return 0;
}

/// Prints the metadata of an exported file as one JSON object.
int describe_onnx(const fs::path& file) {
  Json answer = Json::object();
  for (const auto& [key, text] : to_properties(read_onnx_metadata(file))) {
    const bool plain = key == "format" || key == "format_version" || key == "model" || key == "outputs";
    answer[key] = plain ? Json(text) : Json::parse(text);
  }
  std::cout << to_text(answer) << std::flush;
  return 0;
}

int export_network(const ExportArguments& arguments) {
  if (!arguments.describe.empty()) return describe_onnx(arguments.describe);
  if (arguments.weights.weights.empty() || arguments.format.empty()) {
    throw InputError("no weights or no format given", "",
                     "Give --weights FILE and --format onnx or darknet, or --describe an exported file.");
  }
  switch (enum_value<ExportFormat>(arguments.format).value()) {
    case ExportFormat::onnx: return export_as_onnx(arguments);
    case ExportFormat::darknet: return export_as_darknet(arguments);
  }
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("export", "export trained weights to ONNX or to darknet's format");
  const auto arguments = std::make_shared<ExportArguments>();
  arguments->weights.add(*command);
  command
      ->add_option("--format", arguments->format,
                   "onnx, or darknet (.cfg, .weights and .names; OpenCV reads them too)")
      ->check(CLI::IsMember(enum_names<ExportFormat>()));
  command->add_option("--out", arguments->out, "output file (default: next to the weights)")
      ->type_name("FILE");
  command->add_flag("--force", arguments->force, "replace existing output files of any kind");
  std::vector<CLI::Option*> onnx, nms;
  onnx.push_back(command
                     ->add_option("--heads", arguments->heads,
                                  "raw: the heads' logits; decoded: boxes and scores; nms: detections")
                     ->check(CLI::IsMember(enum_names<OnnxHeads>())));
  onnx.push_back(add_input_size(*command, arguments->onnx.size,
                                "the input in pixels (default: as recorded in the weights)", 0));
  onnx.push_back(command->add_option("--batch", arguments->batch, "batch size, or dynamic")
                     ->capture_default_str()
                     ->type_name("N"));
  onnx.push_back(command->add_option("--opset", arguments->onnx.opset, "ONNX opset version")
                     ->capture_default_str()
                     ->check(within(onnx_oldest_opset, onnx_newest_opset)));
  nms.push_back(command->add_option("--conf", arguments->onnx.score, "with --heads nms: confidence threshold")
                    ->capture_default_str()
                    ->check(within(0, 1)));
  nms.push_back(command->add_option("--nms", arguments->onnx.iou, "with --heads nms: NMS IoU threshold")
                    ->capture_default_str()
                    ->check(within(0, 1)));
  CLI::Option* numbers =
      command
          ->add_option(
              "--numbers", arguments->numbers,
              "values of the .weights. kept: unchanged to the bit; scaled: OpenCV and darknet compute the "
              "same (default: kept for weights imported from darknet, else scaled)")
          ->check(CLI::IsMember(enum_names<DarknetNumbers>()));
  command->add_option("--describe", arguments->describe, "print the metadata of an exported ONNX file")
      ->type_name("FILE.onnx");
  command->callback([=, &action] {
    for (const auto* option : onnx) {
      if (*option) arguments->onnx_only.push_back(option->get_name());
    }
    for (const auto* option : nms) {
      if (*option) arguments->nms_only.push_back(option->get_name());
    }
    if (*numbers) arguments->darknet_only.push_back(numbers->get_name());
    action = [arguments] { return export_network(*arguments); };
  });
}

}  // namespace brightnet::cli
