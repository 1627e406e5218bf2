// brightnet data split: train, val and test by what the images contain.
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "core/files.h"
#include "core/log.h"
#include "data/commands/split.h"
#include "formats/darknet/import.h"

namespace brightnet::cli {
namespace {

namespace fs = std::filesystem;

struct SplitArguments {
  CommonOptions common;
  SplitOptions options;
  bool exact = false;
  std::string json;
};

/// The `data:` section without the keys that say nothing.
YAML::Node section_of(const DataOptions& data) {
  YAML::Node all = YAML::Load(print_config(data, false)), out(YAML::NodeType::Map);
  for (const auto& entry : all) {
    const YAML::Node& value = entry.second;
    const bool empty = value.IsScalar() ? value.Scalar().empty() : value.size() == 0;
    if (!empty) out[entry.first.Scalar()] = value;
  }
  out["classes"].SetStyle(YAML::EmitterStyle::Flow);
  return out;
}

/// The configuration as it was written, with these data and absolute paths; of a data set without one, the data alone.
YAML::Node with_data(const fs::path& file, const RunConfig& config, const DataOptions& data) {
  YAML::Node root(YAML::NodeType::Map);
  if (file.empty()) {
    root["name"] = fs::path(config.data.root).filename().string();
  } else {
    const bool cfg = config.imported && fs::equivalent(file, config.model);
    root = cfg ? YAML::Load(config.imported->recipe_yaml) : YAML::Clone(YamlDocument::load(file).root().node);
    if (!config.model.empty()) root["model"] = config.model;
    if (!config.train.weights.empty()) root["train"]["weights"] = config.train.weights;
    if (!config.train.weights_cfg.empty()) root["train"]["weights_cfg"] = config.train.weights_cfg;
  }
  root["data"] = section_of(data);
  return root;
}

void split(SplitArguments arguments) {
  arguments.options.similar = !arguments.exact;
  CommonOptions& common = arguments.common;
  common.take_data_for_config();
  const bool bare = common.config.empty();  // the data set without a configuration around it
  const RunConfig config = load_run_config(common.config, common.overrides());
  const fs::path source = bare ? common.data : common.config;
  common.say_data();
  if (!arguments.json.empty() && arguments.json != "-") check_answer(arguments.json, "groups");
  const SplitReport report = split_dataset(config.data, arguments.options);
  if (!report.problems.empty()) log::warn("{}", report.problems);
  const fs::path file =
      arguments.options.folder / (bare ? std::string("data.yaml") : source.stem().string() + ".yaml");
  const YAML::Node root = with_data(common.config, config, report.data);
  YAML::Emitter yaml;
  yaml << root;
  write_atomically(
      file, fmt::format("# Written by brightnet data split {} --ratios {} --seed {}{}\n{}\n", source.string(),
                        fmt::join(arguments.options.ratios, ","), arguments.options.seed,
                        arguments.exact ? " --exact" : "", yaml.c_str()));
  if (arguments.json != "-") std::cout << report.text() << std::flush;
  if (!arguments.json.empty()) {
    write_answer(arguments.json,
                 report.json().dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
  }
  const bool complete = root["model"].IsDefined();
  log::info("Written: {}. Train on it with: brightnet train {}{}", arguments.options.folder.string(),
            file.string(), complete ? "" : " --model yolov4-tiny");
}

}  // namespace

void add_data_split(CLI::App& data, Action& action) {
  auto* command = data.add_subcommand(
      "split", "divide a data set into train, val and test; images that look alike stay together");
  const auto arguments = std::make_shared<SplitArguments>();
  arguments->common.add_config(*command, "the run's YAML, or the data set itself, such as a folder");
  arguments->common.add_data(*command);
  command
      ->add_option("--out", arguments->options.folder,
                   "folder for the lists and the YAML; must not exist, or be empty")
      ->type_name("DIR")
      ->required();
  command
      ->add_option("--ratios", arguments->options.ratios,
                   "of train, val and test; two of them: no test (default 0.8,0.1,0.1)")
      ->type_name("A,B[,C]")
      ->expected(1, -1)
      ->allow_extra_args(false)
      ->delimiter(',');
  command->add_option("--seed", arguments->options.seed, "random seed; another seed is another division");
  command->add_flag("--exact", arguments->exact,
                    "keep only files with the same bytes together, not images that look alike");
  command->add_option("--json", arguments->json, "write JSON to this file; - for standard output")
      ->type_name("FILE");
  arguments->common.add_assignments(*command);
  command->callback([=, &action] {
    action = [arguments] {
      split(*arguments);
      return 0;
    };
  });
}

}  // namespace brightnet::cli
