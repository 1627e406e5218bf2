#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
#include <iostream>
#include <sstream>

#include <opencv2/core/utility.hpp>

#include "brightnet/log.h"
#include "brightnet/ranks.h"
#include "cli/commands.h"
#include "cli/rank_launch.h"
#include "core/child_process.h"
#include "core/files.h"
#include "core/input_size.h"
#include "core/output_files.h"
#include "core/threads.h"

namespace brightnet::cli {

void take_config(CLI::App& command, Configuration& run, const std::string& help) {
  command.add_option("config", run.config, help)->type_name("CONFIG.yaml|X.cfg");
}

void take_model(CLI::App& command, Configuration& run) {
  command
      .add_option("--model", run.model,
                  "the model: a name that `brightnet models` lists, or the path of a YAML or .cfg")
      ->type_name("NAME|FILE");
}

void take_data(CLI::App& command, std::string& data) {
  command
      .add_option(
          "--data", data,
          "the data set: an Ultralytics data.yaml, darknet's obj.data, a COCO JSON (or two: A.json,B.json), a "
          "VOC folder, or a folder of images and labels")
      ->type_name("DATA");
}

void take_fold(CLI::App& command, Configuration& run) {
  command
      .add_option("--fold", run.fold,
                  "cross-validation: train and val images are divided into N parts by content, and part K is "
                  "validated (data.fold)")
      ->type_name("K/N");
}

void take_device(CLI::App& command, std::string& device) {
  command.add_option("--device", device, "auto, cpu, cuda or cuda:N")->type_name("DEVICE");
}

void take_precision(CLI::App& command, std::string& precision) {
  command.add_option("--precision", precision, "fp32, tf32, bf16 or fp16")->type_name("P");
}

void take_settings(CLI::App& command, std::vector<std::string>& settings) {
  command.add_option("--set", settings, "override config values (repeatable)")
      ->type_name("KEY.PATH=VALUE")
      ->expected(1, -1)
      ->allow_extra_args(false);
}

void take_ranks(CLI::App& command, int& ranks) {
  const auto positive = [](const std::string& word) -> std::string {
    int number = 0;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, number);
    return error == std::errc() && stop == end && number > 0
               ? ""
               : "'" + word + "' is not a valid number of processes";
  };
  command.add_option("--ranks", ranks, "number of ranks (processes) to start on this machine")
      ->type_name("N")
      ->check(CLI::Validator(positive, ""));
}

bool must_launch(int ranks) {
  return ranks > 1 && !is_launched_rank();
}

std::vector<std::string> arguments_of_rank() {
  std::vector<std::string> words;
  std::istringstream line(read_file("/proc/self/cmdline"));
  for (std::string word; std::getline(line, word, '\0');) words.push_back(word);
  std::vector<std::string> arguments;
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--ranks") {
      ++i;
    } else if (words[i].rfind("--ranks=", 0) != 0) {
      arguments.push_back(words[i]);
    }
  }
  return arguments;
}

int launch(int ranks) {
  return run_ranks(ranks, this_program(), arguments_of_rank()).code;
}

void take_weights(CLI::App& command, WeightsFiles& weights, const std::string& also) {
  command
      .add_option("--weights", weights.weights,
                  "the .safetensors or the folder of a run, darknet's .weights (with --cfg), " + also +
                      "or a name that `brightnet download` lists")
      ->type_name("FILE|NAME");
  command.add_option("--cfg", weights.cfg, "the darknet .cfg of a .weights file")->type_name("X.cfg");
  command
      .add_option("--names", weights.names,
                  "class names for darknet's .weights: a .names file or an obj.data")
      ->type_name("FILE");
}

void use_opencv_threads(const WeightsFiles& weights) {
  if (weights.weights.extension() == ".onnx") cv::setNumThreads(compute_threads());
}

void take_input(CLI::App& command, Configuration& run) {
  command
      .add_option("--size", run.size,
                  "input in pixels: N, HxW (the height first), or auto: by the images' shapes (train.size)")
      ->type_name("N|HxW|auto");
  command.add_option("--batch", run.batch, "images of an optimizer step (train.batch)")
      ->type_name("N")
      ->check(at_least(1));
}

void take_json(CLI::App& command, std::string& file, const std::string& what) {
  command.add_option("--json", file, "write " + what + " to this file; - for standard output")
      ->type_name("FILE");
}

CLI::Option* take_tiles(CLI::App& command, std::string& tiles) {
  return command
      .add_option(
          "--tiles", tiles,
          "detect in tiles of SIZE pixels that overlap by this fraction (0.2), and in the whole picture, and "
          "merge; or what data.tiles takes: \"{size: 640, merge: nms}\"")
      ->type_name("SIZE[,OVERLAP]");
}

void write_answer(const std::string& file, const std::string& json) {
  if (file == "-") {
    std::cout << json << std::flush;
  } else if (!file.empty()) {
    write_answer_file(file, "--json", json);
  }
}

void print_answer(const std::string& file, const Answer& answer) {
  if (file != "-") std::cout << answer.text << std::flush;
  write_answer(file, answer.json);
}

void check_answer(const std::string& file, const std::string& first_key,
                  const std::vector<std::filesystem::path>& others) {
  // From here on no other result goes where the JSON does.
  if (file == "-") set_log_sink(standard_sink(ResultsGo::to_standard_error));
  if (!file.empty()) check_answer_file(file, "--json", answer_beginning(first_key));
  if (!file.empty() && file != "-") refuse_same_outputs(file, "--json", others);
  // The file is written also where nobody reads standard output to its end (`| head`).
  if (!file.empty() && file != "-") std::signal(SIGPIPE, SIG_IGN);
}

int answer(const std::string& file, const std::string& first_key, const std::function<Answer()>& work) {
  check_answer(file, first_key);
  print_answer(file, work());
  return 0;
}

namespace {

/// Accepts numbers for which `good` holds; `rule` describes them.
CLI::Validator number_check(const std::function<bool(double)>& good, const std::string& rule) {
  const auto check = [good, rule](const std::string& word) -> std::string {
    double number = 0;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, number);
    const bool whole = error == std::errc() && stop == end && std::isfinite(number);
    return whole && good(number) ? "" : '\'' + word + "' must be a number " + rule;
  };
  return CLI::Validator(check, "");
}

std::string plain(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

}  // namespace

CLI::Validator at_least(double low) {
  return number_check([low](double x) { return x >= low; }, "of at least " + plain(low));
}

CLI::Validator above_zero() {
  return number_check([](double x) { return x > 0; }, "above 0");
}

CLI::Validator within(double low, double high) {
  return number_check([=](double x) { return x >= low && x <= high; },
                      "from " + plain(low) + " to " + plain(high));
}

CLI::Option* take_size(CLI::App& command, int& height, int& width, const std::string& help, int low) {
  constexpr int largest_input_side = InputSizeLimits().high;
  const auto read = [&height, &width, low](const std::string& text) {
    const auto given = parse_input_size(text);
    if (!given)
      throw CLI::ValidationError("--size", text + " is no size: write 416 or 384x1248 (height x width)");
    const bool default_size = low == 0 && *given == InputSize(0);
    if (!default_size && (given->shorter() < std::max(low, 1) || given->longer() > largest_input_side)) {
      throw CLI::ValidationError(
          "--size", text + " is not from " + plain(low) + " to " + plain(largest_input_side) + " pixels");
    }
    height = given->height;
    width = given->width;
  };
  return command.add_option_function<std::string>("--size", read, help + "; HxW is the height first")
      ->type_name("N|HxW");
}

}  // namespace brightnet::cli
