// brightnet export: writes a trained network in formats of other programs.
#include "brightnet/export.h"

#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "core/output_files.h"

namespace brightnet::cli {
namespace {

namespace fs = std::filesystem;

struct ExportArguments {
  WeightsFiles weights;
  std::string format, out, describe;
  std::string batch = "1", numbers;
  OnnxExportOptions onnx;
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
void refuse_to_replace_others(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error) || is_onnx_export(file)) return;
  throw InputError("a file of this name already exists and is not an ONNX export of brightnet", file.string(),
                   "Name another with --out, or replace it with --force.");
}

/// Inputs are never replaced, even with --force.
std::vector<fs::path> inputs(const ExportArguments& arguments) {
  return {arguments.weights.weights, arguments.weights.cfg, arguments.weights.names};
}

void export_as_onnx(const ExportArguments& arguments) {
  refuse_options(arguments.darknet_only, "--format darknet");
  OnnxExportOptions options = arguments.onnx;
  options.batch = batch_of(arguments.batch);
  if (options.heads != "nms") refuse_options(arguments.nms_only, "--heads nms");
  const fs::path file = arguments.out.empty() ? fs::path(arguments.weights.weights).replace_extension(".onnx")
                                              : fs::path(arguments.out);
  refuse_to_replace_inputs({file}, inputs(arguments));
  if (!arguments.force) refuse_to_replace_others(file);
  check_folder(file.parent_path(), "--out");
  const Weights weights = Weights::open(arguments.weights);
  export_onnx(weights, file, options);
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

void export_as_darknet(const ExportArguments& arguments) {
  refuse_options(arguments.onnx_only, "--format onnx");
  refuse_options(arguments.nms_only, "--format onnx");
  const fs::path base = darknet_base(arguments);
  for (const char* kind : {".cfg", ".weights", ".names"}) {
    const fs::path file = base.string() + kind;
    refuse_to_replace_inputs({file}, inputs(arguments));
    if (!arguments.force) refuse_to_replace(file);
  }
  check_folder(base.parent_path(), "--out");
  const Weights weights = Weights::open(arguments.weights);
  export_darknet(weights, base.parent_path(), base.filename().string(), arguments.numbers);
}

int export_network(ExportArguments arguments) {
  if (!arguments.describe.empty()) {
    std::cout << describe_onnx(arguments.describe) << std::flush;
    return 0;
  }
  if (arguments.weights.weights.empty() || arguments.format.empty()) {
    throw InputError("no weights or no format given", "",
                     "Give --weights FILE and --format onnx or darknet, or --describe an exported file.");
  }
  arguments.weights.weights = weights_file(arguments.weights.weights);
  arguments.format == "onnx" ? export_as_onnx(arguments) : export_as_darknet(arguments);
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("export", "export trained weights to ONNX or to darknet's format");
  const auto arguments = std::make_shared<ExportArguments>();
  take_weights(*command, arguments->weights);
  command
      ->add_option("--format", arguments->format,
                   "onnx, or darknet (.cfg, .weights and .names; OpenCV reads them too)")
      ->check(CLI::IsMember({"onnx", "darknet"}));
  command->add_option("--out", arguments->out, "output file (default: next to the weights)")
      ->type_name("FILE");
  command->add_flag("--force", arguments->force, "replace existing output files of any kind");
  std::vector<CLI::Option*> onnx, nms;
  onnx.push_back(command
                     ->add_option("--heads", arguments->onnx.heads,
                                  "raw: the heads' logits; decoded: boxes and scores; nms: detections")
                     ->check(CLI::IsMember(onnx_heads())));
  onnx.push_back(take_size(*command, arguments->onnx.height, arguments->onnx.width,
                           "the input in pixels (default: as recorded in the weights)", 0));
  onnx.push_back(command->add_option("--batch", arguments->batch, "batch size, or dynamic")
                     ->capture_default_str()
                     ->type_name("N"));
  onnx.push_back(command->add_option("--opset", arguments->onnx.opset, "ONNX opset version")
                     ->capture_default_str()
                     ->check(within(onnx_oldest_opset, onnx_newest_opset)));
  nms.push_back(
      command->add_option("--conf", arguments->onnx.confidence, "with --heads nms: confidence threshold")
          ->capture_default_str()
          ->check(within(0, 1)));
  nms.push_back(command->add_option("--nms", arguments->onnx.nms, "with --heads nms: NMS IoU threshold")
                    ->capture_default_str()
                    ->check(within(0, 1)));
  CLI::Option* numbers =
      command
          ->add_option(
              "--numbers", arguments->numbers,
              "values of the .weights. kept: unchanged to the bit; scaled: OpenCV and darknet compute the "
              "same (default: kept for weights imported from darknet, else scaled)")
          ->check(CLI::IsMember(darknet_numbers()));
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
