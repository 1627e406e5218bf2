// The commands of `brightnet`. Each declares its options and stores an action; main() runs it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/dtype.h"
#include "train/config/config.h"
#include "train/distributed/communicator.h"
#include "train/formats/weights.h"
#include "train/setup/run_data.h"
#include "train/setup/run_model.h"

namespace brightnet::cli {

/// What a command does once the command line is understood; the exit code.
using Action = std::function<int()>;

void add_train(CLI::App& app, Action& action);
void add_eval(CLI::App& app, Action& action);
void add_detect(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_memory(CLI::App& app, Action& action);
void add_config(CLI::App& app, Action& action);
void add_data(CLI::App& app, Action& action);
void add_import(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);

/// What every command that takes a CONFIG takes.
struct CommonOptions {
  std::string config;
  std::string data;  ///< darknet's obj.data instead of the configuration's data set
  std::vector<std::string> assignments;
  std::string device = "auto";
  std::string precision;  ///< empty: the configuration's
  int ranks = 0;  ///< to start on this machine; 0: those that a launcher started, or this process alone

  void add_data(CLI::App& command);
  void add_device(CLI::App& command);
  /// The device of this rank.
  std::string device_of(const Communicator& ranks) const;
  void add_precision(CLI::App& command);
  void add_assignments(CLI::App& command);
  void add_ranks(CLI::App& command);
  /// Whether `--ranks` asks for ranks that are yet to be started.
  bool must_launch() const;
  /// Throws InputError when a launcher has started another number of them.
  void check_ranks(const Communicator& communicator) const;
  /// Starts the ranks with this program's own command line; their exit code.
  int launch() const;
  /// The assignments with --data and --precision among them.
  std::vector<std::string> all_assignments() const;
};

/// Trained weights as the commands that use them take them: brightnet's, or darknet's with their .cfg.
struct WeightsOptions {
  std::string weights, cfg, names;

  void add(CLI::App& command);
  /// The network. `classes` are the names of darknet's classes when no file has them; without either they are
  /// numbered. Throws InputError for darknet's weights without a .cfg, or that are not of all layers.
  TrainedModel load(const std::vector<std::string>& classes = {}) const;
};

/// Writes a JSON object to a file, or to standard output for "-". Throws InputError when that would replace
/// something else than an earlier answer of the same kind (train/detect/outputs/answer_file.h).
void write_answer(const std::string& file, const std::string& text);
/// The same objection before the work that leads to the answer, which has this first key; "" is no file.
void check_answer(const std::string& file, const std::string& first_key);

/// Throws InputError when a file that is to be written is one of those that are read, by whatever name.
void refuse_to_replace_inputs(const std::vector<std::filesystem::path>& written,
                              const std::vector<std::filesystem::path>& read);

/// Checks of an option's number. CLI11's own accept what is no number (nan), and print limits of 309 digits.
CLI::Validator at_least(double low);
CLI::Validator above_zero();
CLI::Validator within(double low, double high);
/// Sides of an input that an option may ask for, in pixels; 0 is for options that have a meaning for it.
CLI::Validator input_side(int low = 1);

}  // namespace brightnet::cli
