#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "cli/commands.h"
#include "cli/run_ranks.h"
#include "core/files.h"
#include "core/log.h"
#include "detect/open_weights.h"
#include "detect/outputs/answer_file.h"
#include "kernels/device/device.h"
#include "train/distributed/child_process.h"
#include "train/distributed/launched_rank.h"
#include "train/setup/data_overrides.h"

namespace brightnet::cli {
void CommonOptions::add_config(CLI::App& command, const std::string& help) {
  command.add_option("config", config, help)->type_name("CONFIG.yaml|X.cfg");
}

void CommonOptions::add_model(CLI::App& command) {
  command
      .add_option("--model", model,
                  "the model: a name that `brightnet models` lists, or the path of a YAML or .cfg")
      ->type_name("NAME|FILE");
}

void CommonOptions::add_data(CLI::App& command) {
  command
      .add_option(
          "--data", data,
          "the data set: an Ultralytics data.yaml, darknet's obj.data, a COCO JSON (or two: A.json,B.json), a "
          "VOC folder, or a folder of images and labels")
      ->type_name("DATA");
}

void CommonOptions::add_fold(CLI::App& command) {
  command
      .add_option("--fold", fold,
                  "cross-validation: train and val images are divided into N parts by content, and part K is "
                  "validated (data.fold)")
      ->type_name("K/N");
}

void CommonOptions::add_device(CLI::App& command) {
  command.add_option("--device", device, "auto, cpu, cuda or cuda:N")->type_name("DEVICE");
}

std::string CommonOptions::device_of(const Communicator& ranks) const {
  if (ranks.local_size() == 1) return device;
  return device_of_rank(device, ranks.local_rank(), ranks.local_size(), cuda::inspect(ranks.local_rank()));
}

void CommonOptions::add_precision(CLI::App& command) {
  command.add_option("--precision", precision, "fp32, tf32, bf16 or fp16")->type_name("P");
}

void CommonOptions::add_assignments(CLI::App& command) {
  command.add_option("--set", assignments, "override config values (repeatable)")
      ->type_name("KEY.PATH=VALUE")
      ->expected(1, -1)
      ->allow_extra_args(false);
}

void CommonOptions::add_ranks(CLI::App& command) {
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

bool CommonOptions::must_launch() const {
  return ranks > 1 && !launched_rank().is_rank;
}

void CommonOptions::check_ranks(const Communicator& communicator) const {
  if (ranks == 0 || ranks == communicator.size()) return;
  throw InputError("--ranks asks for " + std::to_string(ranks) + " ranks, and a launcher has started " +
                       std::to_string(communicator.size()),
                   "", "Leave --ranks out: mpirun and srun set the number of ranks.");
}

int CommonOptions::launch() const {
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
  return run_ranks(ranks, this_program(), arguments);
}

const RecognizedData* CommonOptions::recognized() const {
  if (!is_asked_) recognized_ = recognize_run_data(data, config, assignments);
  is_asked_ = true;
  return recognized_ ? &*recognized_ : nullptr;
}

/// Whether part of the training images becomes the validation images.
bool CommonOptions::divides() const {
  return needs_validation && fold.empty() && recognized() && lacks_validation(*recognized(), assignments);
}

Overrides CommonOptions::overrides() const {
  Overrides overrides(assignments);
  auto& all = overrides.assignments;
  if (!model.empty()) all.insert(all.begin(), "--model:model=" + yaml_quoted(model));
  if (!data.empty()) overrides.data = recognized()->options;
  if (divides()) overrides.fold = validation_fold;
  if (!fold.empty()) all.push_back("--fold:data.fold=" + yaml_quoted(fold));
  if (!precision.empty()) all.push_back("--precision:train.precision=" + yaml_quoted(precision));
  return overrides;
}

void CommonOptions::take_data_for_config() {
  if (!data.empty() || config.empty() || !is_data(config)) return;
  data = config;
  config.clear();
}

void CommonOptions::say_data() const {
  if (!recognized()) return;
  log::info("Data: {}", recognized()->text());
  if (divides())
    log::info(
        "It names no validation images: a tenth of all, chosen by content so that images that look alike stay "
        "together, validates (data.fold={}).",
        to_text(validation_fold));
}

void WeightsOptions::add(CLI::App& command) {
  command
      .add_option(
          "--weights", weights,
          "safetensors of a run, darknet's .weights (with --cfg), or a name that `brightnet download` lists")
      ->type_name("FILE|NAME");
  command.add_option("--cfg", cfg, "the darknet .cfg of a .weights file")->type_name("X.cfg");
  command.add_option("--names", names, "class names for darknet's .weights: a .names file or an obj.data")
      ->type_name("FILE");
}

TrainedModel WeightsOptions::load(const std::vector<std::string>& classes) const {
  return open_weights({weights, cfg, names, classes});
}

CLI::Option* add_tiles(CLI::App& command, std::string& tiles) {
  return command
      .add_option(
          "--tiles", tiles,
          "detect in tiles of SIZE pixels that overlap by this fraction (0.2), and in the whole picture, and "
          "merge; or what data.tiles takes: \"{size: 640, merge: nms}\"")
      ->type_name("SIZE[,OVERLAP]");
}

void write_answer(const std::string& file, const std::string& text) {
  if (file == "-") {
    std::cout << text << std::flush;
    return;
  }
  check_answer_file(file, "--json", text.substr(0, text.find(':') + 1));
  write_atomically(file, text);
}

void check_answer(const std::string& file, const std::string& first_key) {
  if (!file.empty()) check_answer_file(file, "--json", answer_beginning(first_key));
}

void refuse_to_replace_inputs(const std::vector<std::filesystem::path>& written,
                              const std::vector<std::filesystem::path>& read) {
  std::error_code error;
  for (const auto& file : written) {
    for (const auto& input : read) {
      if (!std::filesystem::equivalent(file, input, error)) continue;
      throw InputError("this input file would be overwritten", file.string(), "Name another with --out.");
    }
  }
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

CLI::Option* add_input_size(CLI::App& command, InputSize& size, const std::string& help, int low) {
  const auto read = [&size, low](const std::string& text) {
    const auto given = parse_input_size(text);
    if (!given)
      throw CLI::ValidationError("--size", text + " is no size: write 416 or 384x1248 (height x width)");
    const bool default_size = low == 0 && *given == InputSize(0);
    if (!default_size && (given->shorter() < std::max(low, 1) || given->longer() > largest_input_side)) {
      throw CLI::ValidationError(
          "--size", text + " is not from " + plain(low) + " to " + plain(largest_input_side) + " pixels");
    }
    size = *given;
  };
  return command.add_option_function<std::string>("--size", read, help + "; HxW is the height first")
      ->type_name("N|HxW");
}

}  // namespace brightnet::cli
