// brightnet export: writes a trained network in formats of other programs.
#include "brightnet/export.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "brightnet/quantize.h"
#include "cli/commands.h"
#include "core/output_files.h"

namespace brightnet::cli {
namespace {

namespace fs = std::filesystem;

/// What takes the thresholds of detections.
constexpr const char* nms_outputs = "--heads nms and --for deepstream";

struct ExportArguments {
  WeightsFiles weights;
  std::string format, out, describe, server;
  std::string batch = "1", numbers;
  OnnxExportOptions onnx;
  QuantizationOptions quantization;
  bool force = false, int8 = false, half = false;
  std::string report;
  std::vector<std::string> onnx_only, nms_only, darknet_only, int8_only;  ///< given options
};

void refuse_options(const std::vector<std::string>& given, const std::string& meaning) {
  if (given.empty()) return;
  throw InputError(
      fmt::format("{} {} for {} only", fmt::join(given, " and "), given.size() > 1 ? "are" : "is", meaning),
      "", "Remove the option, or choose that format or output.");
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

/// Called before the work, which takes long with --int8.
void check_output_file(const fs::path& file) {
  std::error_code error;
  if (!file.has_filename() || fs::is_directory(file, error)) {
    throw InputError("this is a folder, and the export is one file", file.string(),
                     "Name a file with --out.");
  }
  check_folder(file.parent_path(), "--out");
}

/// Inputs are never replaced, even with --force.
std::vector<fs::path> inputs(const ExportArguments& arguments) {
  return {arguments.weights.weights, arguments.weights.cfg, arguments.weights.names};
}

/// Next to the weights: best.onnx, best_int8.onnx, best_half.safetensors; best.v2.onnx of best.v2.safetensors.
fs::path default_file(const ExportArguments& arguments, const std::string& ending) {
  const fs::path& weights = arguments.weights.weights;
  return weights.parent_path() / (weights.stem().string() + (arguments.int8 ? "_int8" : "") +
                                  (arguments.half ? "_half" : "") + ending);
}

/// The weights, quantised where that is asked for: for the size of the input that is exported. To be written are these files.
Weights open_weights_to_export(const ExportArguments& arguments, const std::vector<fs::path>& files) {
  check_answer(arguments.report, "ranges", files);
  Weights weights = Weights::open(arguments.weights);
  if (!arguments.int8) return weights;
  QuantizedWeights quantized =
      quantize(weights, arguments.quantization, arguments.onnx.height, arguments.onnx.width);
  print_answer(arguments.report, quantized.report);
  return quantized.weights;
}

void export_as_onnx(const ExportArguments& arguments) {
  refuse_options(arguments.darknet_only, "--format darknet");
  OnnxExportOptions options = arguments.onnx;
  options.batch = batch_of(arguments.batch);
  if (options.heads != "nms") refuse_options(arguments.nms_only, nms_outputs);
  const fs::path file = arguments.out.empty() ? default_file(arguments, ".onnx") : fs::path(arguments.out);
  check_output_file(file);
  refuse_to_replace_inputs({file}, inputs(arguments));
  if (!arguments.force) refuse_to_replace_others(file);
  const Weights weights = open_weights_to_export(arguments, {file});
  export_onnx(weights, file, options);
}

/// As triton or deepstream reads it: a folder, next to the weights or --out. The server chooses the batch, if nobody else did.
void export_for_server(const ExportArguments& arguments) {
  refuse_options(arguments.darknet_only, "--format darknet");
  OnnxExportOptions options = arguments.onnx;
  const bool batch_given = std::find(arguments.onnx_only.begin(), arguments.onnx_only.end(), "--batch") !=
                           arguments.onnx_only.end();
  options.batch = batch_given ? batch_of(arguments.batch) : 0;
  if (arguments.server != "deepstream" && options.heads != "nms")
    refuse_options(arguments.nms_only, nms_outputs);
  const fs::path folder =
      arguments.out.empty() ? default_file(arguments, "_" + arguments.server) : fs::path(arguments.out);
  if (arguments.int8 && arguments.server == "deepstream")  // before it calibrates
    refuse_options({"--int8"}, "--format onnx or safetensors, and --for triton");
  std::vector<fs::path> files = files_for(arguments.server);
  for (fs::path& file : files) {
    file = folder / file;
    refuse_to_replace_inputs({file}, inputs(arguments));
    if (!arguments.force) refuse_to_replace(file);
  }
  check_folder(folder, "--out");
  export_for(arguments.server, open_weights_to_export(arguments, files), folder, options);
}

void export_as_safetensors(const ExportArguments& arguments) {
  refuse_options(arguments.darknet_only, "--format darknet");
  refuse_options(arguments.onnx_only, "--format onnx");
  refuse_options(arguments.nms_only, "--format onnx");
  const fs::path file =
      arguments.out.empty() ? default_file(arguments, ".safetensors") : fs::path(arguments.out);
  check_output_file(file);
  refuse_to_replace_inputs({file}, inputs(arguments));
  if (!arguments.force) refuse_to_replace(file);
  const Weights weights = open_weights_to_export(arguments, {file});
  prepare_folder(file.parent_path(), "--out");
  export_safetensors(weights, file, arguments.half);
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
  if (arguments.int8)
    throw InputError("darknet's files hold no 8-bit weights", "--int8",
                     "Choose --format onnx or safetensors.");
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
  if (!arguments.server.empty()) {
    if (!arguments.format.empty() && arguments.format != "onnx") refuse_options({"--for"}, "--format onnx");
    arguments.format = "onnx";
  }
  if (arguments.weights.weights.empty() || arguments.format.empty()) {
    throw InputError(
        "no weights or no format given", "",
        "Give --weights FILE and --format onnx, safetensors or darknet, --for a server, or --describe an "
        "exported file.");
  }
  if (!arguments.int8) refuse_options(arguments.int8_only, "--int8");
  if (arguments.int8 && arguments.quantization.data.empty()) {
    throw InputError("--int8 needs images to calibrate on", "--int8",
                     "Give --data: what the network was trained on, or a folder of such images.");
  }
  if (arguments.half && arguments.format != "safetensors") refuse_options({"--half"}, "--format safetensors");
  arguments.weights.weights = weights_file(arguments.weights.weights);
  if (!arguments.server.empty()) {
    export_for_server(arguments);
  } else if (arguments.format == "onnx") {
    export_as_onnx(arguments);
  } else if (arguments.format == "safetensors") {
    export_as_safetensors(arguments);
  } else {
    export_as_darknet(arguments);
  }
  return 0;
}

/// --int8 and what it alone takes, which is returned.
std::vector<CLI::Option*> add_int8(CLI::App& command, ExportArguments& arguments) {
  QuantizationOptions& how = arguments.quantization;
  command.add_flag("--int8", arguments.int8,
                   "quantise to 8 bits, calibrated on images of --data; for onnx or safetensors");
  take_data(command, how.data);
  CLI::Option* const data = command.get_option("--data");
  data->description("with --int8: " + data->get_description() +
                    "; without --max-loss also a folder of images alone, its subfolders included");
  std::vector<CLI::Option*> options{data};
  options.push_back(
      command
          .add_option(
              "--calibration-images", how.images,
              "with --int8: images to calibrate on, evenly spread over the training images or the folder (default: 128)")
          ->type_name("N")
          ->check(at_least(1)));
  options.push_back(
      command
          .add_option(
              "--max-loss", how.max_loss,
              "with --int8: measure AP on the validation images for each layer, and leave in floating "
              "point what makes it lose more than this many points (0.3: AP 0.600 becomes 0.597)")
          ->type_name("POINTS")
          ->check(at_least(0)));
  options.push_back(command.add_flag("--symmetric", how.symmetric,
                                     "with --int8: signed activations without zero points, for TensorRT"));
  options.push_back(
      command.add_option("--json", arguments.report, "with --int8: the report as JSON")->type_name("FILE"));
  return options;
}

/// The options of ONNX alone, which are returned.
std::vector<CLI::Option*> add_onnx(CLI::App& command, ExportArguments& arguments) {
  return {command
              .add_option("--heads", arguments.onnx.heads,
                          "raw: the heads' logits; decoded: boxes and scores; nms: detections")
              ->check(CLI::IsMember(onnx_heads())),
          take_size(command, arguments.onnx.height, arguments.onnx.width,
                    "the input in pixels (default: as recorded in the weights)", 0),
          command.add_option("--batch", arguments.batch, "batch size, or dynamic")
              ->capture_default_str()
              ->type_name("N"),
          command.add_option("--opset", arguments.onnx.opset, "ONNX opset version")
              ->capture_default_str()
              ->check(within(onnx_oldest_opset, onnx_newest_opset))};
}

/// The thresholds of detections, which are returned.
std::vector<CLI::Option*> add_nms(CLI::App& command, OnnxExportOptions& options) {
  return {command
              .add_option("--conf", options.confidence,
                          "with --heads nms or --for deepstream: confidence threshold")
              ->capture_default_str()
              ->check(within(0, 1)),
          command.add_option("--nms", options.nms, "with --heads nms or --for deepstream: NMS IoU threshold")
              ->capture_default_str()
              ->check(within(0, 1))};
}

/// Formats that another program's converter makes of the ONNX file, and the section of docs/deploy.md that says how.
constexpr std::pair<std::string_view, std::string_view> formats_made_of_onnx[] = {
    {"openvino", "openvino"}, {"ncnn", "ncnn"},       {"tflite", "tflite"},
    {"litert", "tflite"},     {"engine", "tensorrt"}, {"tensorrt", "tensorrt"}};

/// Says how one of these formats is made; "" for other words.
std::string way_by_onnx(const std::string& format) {
  for (const auto& [name, section] : formats_made_of_onnx) {
    if (format == name)
      return fmt::format("{} is made of an ONNX file: --format onnx, then docs/deploy.md#{}", name, section);
  }
  return "";
}

/// The names of those options that the command line has.
std::vector<std::string> given(const std::vector<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) {
    if (*option) names.push_back(option->get_name());
  }
  return names;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("export", "export trained weights to ONNX, in int8, or to darknet's format");
  const auto arguments = std::make_shared<ExportArguments>();
  take_weights(*command, arguments->weights);
  command
      ->add_option("--format", arguments->format,
                   "onnx, safetensors (brightnet's own), or darknet (.cfg, .weights and .names; OpenCV reads "
                   "them too)")
      ->check(CLI::Validator(way_by_onnx, ""))
      ->check(CLI::IsMember({"onnx", "safetensors", "darknet"}));
  command
      ->add_option("--for", arguments->server,
                   "ONNX in a folder as a server reads it, with its configuration: NVIDIA Triton's or "
                   "DeepStream's")
      ->check(CLI::IsMember(servers()));
  command->add_option("--out", arguments->out, "output file, or folder (default: next to the weights)")
      ->type_name("FILE");
  command->add_flag("--force", arguments->force, "replace existing output files of any kind");
  command->add_flag("--half", arguments->half,
                    "with --format safetensors: the weights in fp16, half the bytes of the file");
  const std::vector<CLI::Option*> int8 = add_int8(*command, *arguments);
  const std::vector<CLI::Option*> onnx = add_onnx(*command, *arguments);
  const std::vector<CLI::Option*> nms = add_nms(*command, arguments->onnx);
  CLI::Option* numbers =
      command
          ->add_option(
              "--numbers", arguments->numbers,
              "values of the .weights. kept: unchanged to the bit; scaled: OpenCV and darknet compute the "
              "same (default: kept for weights imported from darknet, else scaled)")
          ->check(CLI::IsMember(darknet_numbers()));
  auto* describe =
      command->add_option("--describe", arguments->describe, "print the metadata of an exported ONNX file");
  describe->type_name("FILE.onnx");
  for (const char* option : {"--weights", "--format", "--for", "--out"})
    describe->excludes(command->get_option(option));
  command->callback([=, &action] {
    arguments->onnx_only = given(onnx);
    arguments->nms_only = given(nms);
    arguments->int8_only = given(int8);
    arguments->darknet_only = given({numbers});
    action = [arguments] { return export_network(*arguments); };
  });
}

}  // namespace brightnet::cli
