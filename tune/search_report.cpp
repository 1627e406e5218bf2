#include "tune/search_report.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "core/printable.h"
#include "core/progress_line.h"
#include "core/text.h"

namespace brightnet {
namespace {

/// Values from the command line are tagged with their option, which must not be printed.
void remove_tags(YAML::Node node) {
  if (node.Tag().starts_with("!--")) node.SetTag("?");
  if (node.IsMap()) {
    for (auto entry : node) remove_tags(entry.second);
  }
  if (node.IsSequence()) {
    for (auto item : node) remove_tags(item);
  }
}

void set_path(YAML::Node node, const std::string& path, const YAML::Node& value) {
  const size_t dot = path.find('.');
  if (dot == std::string::npos) {
    node[path] = value;
    return;
  }
  const std::string section = path.substr(0, dot);
  if (!node[section].IsDefined() || !node[section].IsMap()) node[section] = YAML::Node(YAML::NodeType::Map);
  set_path(node[section], path.substr(dot + 1), value);
}

/// The values that `best` has unchanged from the first trial and that the configuration leaves open, to a choice when a run
/// starts or to the model.
std::vector<std::string> fixed_values(const SearchSetup& setup, const RunConfig& config, const Trial& best) {
  const YAML::Node all = YAML::Load(print_config(config, false));
  std::vector<std::string> fixed;
  for (size_t i = 0; i < setup.keys.size(); ++i) {
    const std::string name(setup.keys[i].name);
    const size_t dot = name.find('.');
    const YAML::Node section = all[name.substr(0, dot)], value = section[name.substr(dot + 1)];
    const bool is_given = value.IsDefined() && value.IsScalar() && parse_number(value.Scalar()).has_value();
    if (!is_given && best.values[i] == setup.configured[i])
      fixed.push_back(fmt::format("{}={}", name, best.values[i]));
  }
  return fixed;
}

std::vector<const Trial*> best_first(const std::vector<Trial>& trials) {
  std::vector<const Trial*> order;
  for (const Trial& trial : trials) order.push_back(&trial);
  std::stable_sort(order.begin(), order.end(), [](const Trial* a, const Trial* b) {
    return a->failure.empty() != b->failure.empty() ? a->failure.empty() : a->score > b->score;
  });
  return order;
}

std::string values_of(const SearchSetup& setup, const Trial& trial) {
  const auto differing = differing_values(setup.keys, setup.configured, trial.values);
  return differing.empty() ? "the configuration as it is" : fmt::format("{}", fmt::join(differing, " "));
}

}  // namespace

std::string trial_line(const SearchSetup& setup, const std::vector<Trial>& trials, const Trial& trial,
                       double seconds_left) {
  std::string line = fmt::format("Trial {} ({} of {}): ", trial.number, trial.number + 1, setup.plan.trials);
  line += trial.failure.empty() ? fmt::format("{} {:.4f}", enum_name(setup.best_by), trial.score)
                                : "failed: " + trial.failure;
  if (const Trial* best = best_of(trials))
    line += fmt::format(" (best {:.4f}, trial {})", best->score, best->number);
  line += ", " + format_seconds(trial.seconds);
  if (seconds_left > 0) line += "; about " + format_seconds(seconds_left) + " left";
  return line;
}

std::string resume_command(const std::string& folder, const std::string& device, int jobs) {
  std::string command = "brightnet tune --resume " + shell_path(folder);
  if (device != "auto") command += " --device " + device;
  if (jobs > 1) command += fmt::format(" --jobs {}", jobs);
  return command;
}

std::string trials_table(const SearchSetup& setup, const std::vector<Trial>& trials, size_t rows) {
  std::string text = fmt::format("{:>5}  {:>6}  {:>6}  {:>8}  {}\n", "trial", enum_name(setup.best_by),
                                 "parent", "time", "values");
  const auto order = best_first(trials);
  for (size_t i = 0; i < std::min(rows, order.size()); ++i) {
    const Trial& trial = *order[i];
    text += fmt::format("{:>5}  {:>6}  {:>6}  {:>8}  {}\n", trial.number,
                        trial.failure.empty() ? fmt::format("{:.4f}", trial.score) : "failed",
                        trial.parent < 0 ? "-" : std::to_string(trial.parent), format_seconds(trial.seconds),
                        values_of(setup, trial));
  }
  if (order.size() > rows) text += fmt::format("… and {} more in trials.csv\n", order.size() - rows);
  return text;
}

Json to_json(const SearchSetup& setup, const std::vector<Trial>& trials, const std::string& best_config) {
  Json list = Json::array();
  for (const Trial& trial : trials) {
    Json values = Json::object();
    for (size_t i = 0; i < setup.keys.size(); ++i) values[std::string(setup.keys[i].name)] = trial.values[i];
    list.push_back({{"trial", trial.number},
                    {"parent", trial.parent},
                    {"score", trial.score},
                    {"seconds", trial.seconds},
                    {"failure", trial.failure},
                    {"values", values}});
  }
  const Trial* best = best_of(trials);
  return {{"best", best ? best->number : -1},
          {"score", best ? best->score : 0},
          {"trials", list},
          {"config", best_config}};
}

std::string best_config(const SearchSetup& setup, const RunConfig& config, const Trial& best) {
  YAML::Node root = YAML::Clone(config.source->node);
  remove_tags(root);
  const auto text = [](const std::string& word) { return YAML::Node(word); };
  root["name"] = text(config.name);
  root["model"] = text(config.model);
  // The keys that --data has set, which the document does not have.
  const YAML::Node data = YAML::Load(print_config(config.data, false));
  for (const std::string& key : config.of_data_option) set_path(root, "data." + key, data[key]);
  set_path(root, "data.root", text(config.data.root));
  for (const auto& [key, file] : config.train.files()) set_path(root, "train." + key, text(file));
  const auto changes = differing_values(setup.keys, setup.configured, best.values);
  // A trial that changed something was given all its values, and the configuration's own run none.
  const bool as_it_is = best.number == 0 || changes.empty();
  const std::vector<std::string> fixed =
      as_it_is ? std::vector<std::string>() : fixed_values(setup, config, best);
  for (const std::string& change : as_it_is ? changes : assignments(setup.keys, best.values)) {
    const size_t equals = change.find('=');
    set_path(root, change.substr(0, equals), text(change.substr(equals + 1)));
  }
  YAML::Emitter yaml;
  yaml << root;
  return fmt::format(
      "# {} with the values of trial {} of `brightnet tune`, whose {} was {:.4f}.\n# Changed: {}\n{}{}\n",
      setup.plan.config.empty() ? "The configuration" : setup.plan.config, best.number,
      enum_name(setup.best_by), best.score,
      changes.empty() ? "nothing, no trial was better" : fmt::format("{}", fmt::join(changes, " ")),
      fixed.empty() ? ""
                    : fmt::format("# Fixed as in the trials, automatic before: {}\n", fmt::join(fixed, " ")),
      yaml.c_str());
}

}  // namespace brightnet
