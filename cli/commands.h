// The commands of `brightnet`. Each declares its options and stores an action; main() runs it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "data/formats/recognize.h"
#include "formats/weights.h"
#include "train/config/config.h"
#include "train/distributed/communicator.h"
#include "train/setup/run_data.h"
#include "train/setup/run_model.h"

namespace brightnet::cli {

/// Runs a command whose command line has been parsed; returns the exit code.
using Action = std::function<int()>;

/// All of them, in the order of the help.
void add_commands(CLI::App& app, Action& action);

void add_train(CLI::App& app, Action& action);
void add_tune(CLI::App& app, Action& action);
void add_eval(CLI::App& app, Action& action);
void add_detect(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_memory(CLI::App& app, Action& action);
void add_config(CLI::App& app, Action& action);
void add_data(CLI::App& app, Action& action);
// Below `data`.
void add_data_show(CLI::App& data, Action& action);
void add_data_split(CLI::App& data, Action& action);
void add_import(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_models(CLI::App& app, Action& action);
void add_download(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);
void add_manual(CLI::App& app, Action& action);

/// The options shared by the commands that take a CONFIG.
struct CommonOptions {
  std::string config;  ///< may be empty where a model or data are given
  std::string model;   ///< a name or a path; replaces the configuration's model
  std::string data;    ///< what recognize_data() takes; replaces the configuration's data set
  std::vector<std::string> assignments;
  std::string device = "auto";
  std::string fold;       ///< "K/N"; empty: the configuration's
  std::string precision;  ///< empty: the configuration's
  int ranks = 0;          ///< to start on this machine; 0: those started by a launcher, or this process alone
  /// Whether a data set without validation images is divided, since the command cannot do without.
  bool needs_validation = false;

  /// CONFIG, which may be left out.
  void add_config(CLI::App& command, const std::string& help = "the run's YAML, or darknet's .cfg");
  void add_model(CLI::App& command);
  void add_data(CLI::App& command);
  void add_fold(CLI::App& command);
  void add_device(CLI::App& command);
  /// The device of this rank.
  std::string device_of(const Communicator& ranks) const;
  void add_precision(CLI::App& command);
  void add_assignments(CLI::App& command);
  void add_ranks(CLI::App& command);
  /// Whether `--ranks` asks for ranks that have not been started.
  bool must_launch() const;
  /// Throws InputError when a launcher started a different number.
  void check_ranks(const Communicator& communicator) const;
  /// Starts the ranks with this program's own command line; returns their exit code.
  int launch() const;
  /// Those of --set, --model, --data, --fold and --precision.
  Overrides overrides() const;
  /// Takes a folder or a file of data that stands in CONFIG's place as --data.
  void take_data_for_config();
  /// Logs what the data set was recognized as.
  void say_data() const;

 private:
  const RecognizedData* recognized() const;
  bool divides() const;
  mutable std::optional<RecognizedData> recognized_;
  mutable bool is_asked_ = false;
};

/// The options that name trained weights: brightnet's, or darknet's with their .cfg.
struct WeightsOptions {
  std::string weights, cfg, names;

  void add(CLI::App& command);
  /// The network, with heads for the classes of its weights. `classes` are the names of darknet's classes when no file
  /// has them; without either they are numbered. Throws InputError for darknet's weights without a .cfg, or that are
  /// not of all layers.
  TrainedModel load(const std::vector<std::string>& classes = {}) const;
};

/// Writes a JSON object to a file, or to standard output for "-". Throws InputError when that would replace
/// anything but an earlier output of the same kind (detect/outputs/answer_file.h).
void write_answer(const std::string& file, const std::string& text);
/// The same check before the work begins; the output will have this first key. "" is no file.
void check_answer(const std::string& file, const std::string& first_key);

/// Throws InputError when an output file is also an input, even under another name.
void refuse_to_replace_inputs(const std::vector<std::filesystem::path>& written,
                              const std::vector<std::filesystem::path>& read);

/// --tiles of `eval` and `detect`, as parse_tiles() reads it (data/tiles/tiles.h).
CLI::Option* add_tiles(CLI::App& command, std::string& tiles);

/// Checks of an option's number. CLI11's own accept nan and print limits of 309 digits.
CLI::Validator at_least(double low);
CLI::Validator above_zero();
CLI::Validator within(double low, double high);
/// Adds --size: the network input's size, "416" or "384x1248" (height x width). `low`, the least side, is 0 for commands
/// where 0 means the default.
CLI::Option* add_input_size(CLI::App& command, InputSize& size, const std::string& help, int low = 1);

}  // namespace brightnet::cli
