// The commands of `brightnet`. Each declares its options and stores an action; main() runs it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "brightnet/answer.h"
#include "brightnet/configuration.h"
#include "brightnet/error.h"
#include "brightnet/weights.h"

namespace brightnet::cli {

/// Runs a command whose command line has been parsed; returns the exit code.
using Action = std::function<int()>;

/// Adds all commands, in the order of the help.
void add_commands(CLI::App& app, Action& action);

void add_train(CLI::App& app, Action& action);
void add_tune(CLI::App& app, Action& action);
void add_eval(CLI::App& app, Action& action);
void add_detect(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_prune(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_memory(CLI::App& app, Action& action);
void add_config(CLI::App& app, Action& action);
void add_data(CLI::App& app, Action& action);
// The commands below `data`.
void add_data_show(CLI::App& data, Action& action);
void add_data_split(CLI::App& data, Action& action);
void add_import(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_models(CLI::App& app, Action& action);
void add_download(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);
void add_manual(CLI::App& app, Action& action);

// Options that several commands have. Each is read into what the command passes on.

/// Adds CONFIG, which may be left out.
void take_config(CLI::App& command, Configuration& run,
                 const std::string& help = "the run's YAML, or darknet's .cfg");
void take_model(CLI::App& command, Configuration& run);
void take_data(CLI::App& command, std::string& data);
void take_fold(CLI::App& command, Configuration& run);
void take_device(CLI::App& command, std::string& device);
void take_precision(CLI::App& command, std::string& precision);
/// Adds --set.
void take_settings(CLI::App& command, std::vector<std::string>& settings);
/// `also` names what the command takes beside trained weights, with a comma behind it.
void take_weights(CLI::App& command, WeightsFiles& weights, const std::string& also = "");
/// Lets OpenCV, which runs exported networks, use all threads; the program otherwise leaves them to the loader.
void use_opencv_threads(const WeightsFiles& weights);
CLI::Option* take_tiles(CLI::App& command, std::string& tiles);
/// Adds --size, the network input's size in pixels: "416" or "384x1248" (height x width). `low`, the least
/// side, is 0 for commands where 0 means the default.
CLI::Option* take_size(CLI::App& command, int& height, int& width, const std::string& help, int low = 1);
/// Adds --size and --batch of training.
void take_input(CLI::App& command, Configuration& run);
/// Adds --json, the file that `what`, "the plan as JSON", is written to.
void take_json(CLI::App& command, std::string& file, const std::string& what);
/// Adds --ranks; 0: the ranks started by a launcher, or this process alone.
void take_ranks(CLI::App& command, int& ranks);
/// Whether `--ranks` asks for ranks that have not been started.
bool must_launch(int ranks);
/// Starts the ranks with this program's own command line; returns their exit code.
int launch(int ranks);
/// This program's own command line without its name and `--ranks`.
std::vector<std::string> arguments_of_rank();

/// Does the work of a command, prints its text, unless `file`, which --json names, is "-" for standard output, and writes
/// its JSON to the file, if there is one. Throws InputError, before the work begins, when that would replace anything but an
/// earlier answer with this first key. Returns 0.
int answer(const std::string& file, const std::string& first_key, const std::function<Answer()>& work);
/// The parts of answer(), for commands that do something in between, or write `others` besides: none of these may be the file.
/// Where a file is to be written, a command goes on to its end also when nobody reads standard output any more.
void check_answer(const std::string& file, const std::string& first_key,
                  const std::vector<std::filesystem::path>& others = {});
void print_answer(const std::string& file, const Answer& answer);
void write_answer(const std::string& file, const std::string& json);

/// Checks of an option's number. CLI11's own accept nan and print limits of 309 digits.
CLI::Validator at_least(double low);
CLI::Validator above_zero();
CLI::Validator within(double low, double high);

}  // namespace brightnet::cli
