#include "train/report/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/files.h"
#include "core/host_memory.h"
#include "core/progress_line.h"
#include "layers/model/reader.h"
#include "layers/parameters.h"
#include "train/run/checkpoint.h"
#include "train/run/run_folder.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// Runs `read`; an InputError becomes a problem of the run.
template <typename Read>
void try_to(ComparedRun& run, Read&& read) {
  try {
    read();
  } catch (const InputError& e) {
    run.problems.emplace_back(e.what());
  }
}

void take_from_curves(ComparedRun& run) {
  const MetricsTable& table = run.curves;
  if (table.rows.empty()) return;
  run.epochs = static_cast<int>(table.rows.back()[0]);
  double images = 0, speeds = 0, rows = 0;
  for (const auto& row : table.rows) {
    const double seconds = table.value(row, "seconds"), speed = table.value(row, "images_per_s");
    if (std::isnan(speed)) continue;
    speeds += speed;
    ++rows;
    if (std::isnan(seconds)) continue;
    run.seconds += seconds;
    images += speed * seconds;
  }
  run.images_per_s = run.seconds > 0 ? images / run.seconds : rows > 0 ? speeds / rows : 0;
  if (const auto* row = table.best_row("AP")) {
    const auto score = [&](const char* column) {
      const double value = table.value(*row, column);
      return std::isnan(value) ? no_truths : value;
    };
    run.best_epoch = static_cast<int>(std::ceil((*row)[0]));
    run.AP = score("AP");
    run.AP50 = score("AP50");
    run.AP75 = score("AP75");
  }
}

/// The state knows which evaluation the best weights are of.
void take_from_state(ComparedRun& run, const RunState& state) {
  run.train = state.train;
  run.val = state.val;
  run.epochs = std::max(run.epochs, static_cast<int>(state.progress.epoch));
  if (!state.best || state.progress.best_epoch == 0) return;
  run.best_epoch = state.progress.best_epoch;
  run.AP = state.best->AP;
  run.AP50 = state.best->AP50;
  run.AP75 = state.best->AP75;
}

/// The heads' settings are keys of the run, whether its configuration gave them or its model's file; the rest is the
/// network.
void take_from_model(ComparedRun& run, const YamlValue& model) {
  YAML::Node network = YAML::Clone(model.node);
  if (run.config && network["head"]) {
    run.config->head = {};
    read_config({network["head"], model.file}, run.config->head);
  }
  run.model_name = network["name"].as<std::string>("");
  for (const char* key : {"name", "head", "classes"}) network.remove(key);
  if (network["input"].IsMap()) network["input"].remove("size");
  run.network = YAML::Dump(network);
}

std::string score_text(double value) {
  return value < 0 ? "-" : fmt::format("{:.4f}", value);
}

/// Columns of text, the first one flush left.
std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = fmt::format("{:<{}}", row[0], widths[0]);
    for (size_t i = 1; i < row.size(); ++i) line += fmt::format("  {:>{}}", row[i], widths[i]);
    text += line + '\n';
  }
  return text;
}

/// Keys that differ between any two runs without meaning.
bool is_place(const std::string& key) {
  return key == "name" || key == "model" || key == "data.root";
}

using SplitOfRun = std::optional<SplitFingerprint> ComparedRun::*;

/// Whether two runs had other data; of one that is unknown nothing is said.
bool differs(const std::vector<ComparedRun>& runs, SplitOfRun split) {
  const SplitFingerprint* known = nullptr;
  for (const ComparedRun& run : runs) {
    if (!(run.*split)) continue;
    if (known && *known != *(run.*split)) return true;
    known = &*(run.*split);
  }
  return false;
}

void add_data(const std::vector<ComparedRun>& runs, const char* key, SplitOfRun split,
              std::vector<DifferingKey>& keys) {
  if (!differs(runs, split)) return;
  DifferingKey& one = keys.emplace_back(DifferingKey{key, {}});
  for (const ComparedRun& run : runs) one.values.push_back(run.*split ? describe(*(run.*split)) : "-");
}

/// The model's name, with the run that first has this network where several networks have that name.
std::string network_label(const std::vector<ComparedRun>& runs, const ComparedRun& run) {
  if (run.network.empty()) return "-";
  const bool ambiguous = std::any_of(runs.begin(), runs.end(), [&](const auto& other) {
    return other.model_name == run.model_name && !other.network.empty() && other.network != run.network;
  });
  if (!ambiguous) return run.model_name;
  const auto first =
      std::find_if(runs.begin(), runs.end(), [&](const auto& other) { return other.network == run.network; });
  return fmt::format("{} of {}", run.model_name, first->name);
}

/// One column of all runs' curves.
PlotPanel panel_of(const std::vector<ComparedRun>& runs, const char* title, const char* column, Better better,
                   bool over_minutes) {
  PlotPanel panel{title, {}, better};
  for (const ComparedRun& run : runs) {
    Curve& curve = panel.curves.emplace_back(Curve{run.name, {}, {}, -1});
    const std::vector<double> minutes = minutes_of(run.curves);
    for (size_t i = 0; i < minutes.size(); ++i) {
      const auto& row = run.curves.rows[i];
      const double value = run.curves.value(row, column);
      if (!std::isfinite(value)) continue;
      curve.x.push_back(over_minutes ? minutes[i] : row[0]);
      curve.y.push_back(value);
    }
  }
  return panel;
}

}  // namespace

std::vector<double> minutes_of(const MetricsTable& table) {
  std::vector<double> minutes(table.rows.size());
  const auto seconds_at = [&](size_t row) { return table.value(table.rows[row], "seconds"); };
  // The last row with seconds, which are those since the one before it: its epochs, its minutes, and those of an epoch there.
  double from = 0, ended = 0, last = 0;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const double epoch = table.rows[i][0], whole = std::ceil(epoch);
    size_t timed = i;
    while (timed < table.rows.size() && table.rows[timed][0] < whole && std::isnan(seconds_at(timed)))
      ++timed;
    const bool known = timed < table.rows.size();
    const double length = (known ? table.rows[timed][0] : whole) - from;
    const double seconds = known ? seconds_at(timed) : 60 * last * length;
    const double own = std::isnan(seconds) ? 0 : seconds / 60;
    minutes[i] = ended + (timed == i ? 1 : (epoch - from) / length) * own;
    if (timed != i) continue;
    from = epoch;
    ended = minutes[i];
    last = own / std::min(1.0, length);
  }
  return minutes;
}

bool is_run(const fs::path& path) {
  const RunFolder folder = RunFolder::at(path);
  std::error_code failed;
  return fs::exists(folder.config(), failed) || fs::exists(folder.metrics(), failed);
}

ComparedRun read_run(const fs::path& path) {
  const RunFolder folder = RunFolder::at(path);
  std::error_code error;
  if (!is_run(path)) {
    throw InputError("this is no run: it has neither a config.yaml nor a metrics.csv", path.string(),
                     "Name the folders of runs (runs/NAME).");
  }
  ComparedRun run;
  run.folder = path.string();
  run.name = without_slash(fs::weakly_canonical(path, error)).filename().string();
  if (run.name.empty()) run.name = run.folder;
  try_to(run, [&] { run.config = load_run_config(folder.config(), {}, false); });
  try_to(run, [&] {
    run.curves = read_metrics_csv(folder.metrics());
    take_from_curves(run);
  });
  try_to(run, [&] { take_from_state(run, read_state(folder.state())); });
  try_to(run, [&] {
    const YamlDocument document = YamlDocument::load(folder.model());
    if (document.root().node.IsMap()) take_from_model(run, document.root());
    if (!run.config) return;
    const Model model = parse_model(document, static_cast<int>(run.config->data.classes.size()));
    run.parameters = static_cast<int64_t>(ParameterLayout(model).trainable_parameters());
  });
  for (const auto& weights : {folder.best(), folder.last()}) {
    if (run.weights_bytes == 0 && fs::exists(weights, error))
      run.weights_bytes = fs::file_size(weights, error);
  }
  if (run.weights_bytes == 0) run.problems.push_back(folder.best().string() + ": there are no weights.");
  return run;
}

std::vector<DifferingKey> differing_keys(const std::vector<ComparedRun>& runs) {
  std::vector<DifferingKey> keys;
  add_data(runs, "training split", &ComparedRun::train, keys);
  add_data(runs, "validation split", &ComparedRun::val, keys);
  const auto first = std::find_if(runs.begin(), runs.end(), [](const auto& run) { return run.config; });
  if (first == runs.end()) return keys;
  std::map<std::string, DifferingKey> differing;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].config) continue;
    for (const auto& [key, before, after] : compare(*first->config, *runs[i].config)) {
      if (is_place(key)) continue;
      DifferingKey& one = differing[key];
      one.key = key;
      if (one.values.empty()) one.values.assign(runs.size(), before);
      one.values[i] = after;
    }
  }
  const auto of_data = static_cast<std::ptrdiff_t>(keys.size());
  for (const std::string& key : config_keys()) {
    if (const auto found = differing.find(key); found != differing.end()) {
      keys.push_back(std::move(found->second));
      differing.erase(found);
    }
  }
  for (auto& [key, one] : differing) keys.push_back(std::move(one));  // of mappings: data.map
  for (auto one = keys.begin() + of_data; one != keys.end(); ++one) {
    for (size_t i = 0; i < runs.size(); ++i) {
      if (!runs[i].config) one->values[i] = "-";
    }
  }
  DifferingKey model{"model", {}};
  for (const ComparedRun& run : runs) model.values.push_back(network_label(runs, run));
  const bool many = std::any_of(runs.begin(), runs.end(), [&](const auto& run) {
    return !run.network.empty() && run.network != runs[0].network;
  });
  if (many) keys.insert(keys.begin(), model);
  return keys;
}

std::string other_validation(const std::vector<ComparedRun>& runs) {
  if (!differs(runs, &ComparedRun::val)) return "";
  return "The runs were validated on different data: their scores cannot be compared. `brightnet eval` measures the "
         "weights of all of them on one data set.";
}

std::vector<std::vector<std::string>> comparison_rows(const std::vector<ComparedRun>& runs) {
  std::vector<std::vector<std::string>> rows;
  for (const ComparedRun& run : runs) {
    rows.push_back({run.name, score_text(run.AP50), score_text(run.AP), score_text(run.AP75),
                    run.best_epoch > 0 ? std::to_string(run.best_epoch) : "-", std::to_string(run.epochs),
                    run.seconds > 0 ? format_seconds(run.seconds) : "-",
                    run.images_per_s > 0 ? fmt::format("{:.1f}", run.images_per_s) : "-",
                    run.parameters > 0 ? fmt::format("{:.2f} M", run.parameters / 1e6) : "-",
                    run.weights_bytes > 0 ? format_bytes(run.weights_bytes) : "-"});
  }
  return rows;
}

std::string comparison_text(const std::vector<ComparedRun>& runs) {
  std::vector<std::vector<std::string>> rows = comparison_rows(runs);
  rows.insert(rows.begin(), comparison_columns);
  std::string text = table_text(rows);
  if (const std::string other = other_validation(runs); !other.empty()) text += '\n' + other + '\n';
  const std::vector<DifferingKey> keys = differing_keys(runs);
  if (!keys.empty()) {
    std::vector<std::vector<std::string>> differing{{"differing key"}};
    for (const ComparedRun& run : runs) differing[0].push_back(run.name);
    for (const DifferingKey& one : keys) {
      std::vector<std::string>& row = differing.emplace_back(std::vector{one.key});
      row.insert(row.end(), one.values.begin(), one.values.end());
    }
    text += '\n' + table_text(differing);
  }
  for (const ComparedRun& run : runs) {
    for (const std::string& problem : run.problems) text += fmt::format("\n{}: {}\n", run.name, problem);
  }
  return text;
}

Json comparison_json(const std::vector<ComparedRun>& runs) {
  Json list = Json::array();
  for (const ComparedRun& run : runs) {
    list.push_back({{"run", run.folder},
                    {"AP", run.AP},
                    {"AP50", run.AP50},
                    {"AP75", run.AP75},
                    {"best_epoch", run.best_epoch},
                    {"epochs", run.epochs},
                    {"seconds", run.seconds},
                    {"images_per_s", run.images_per_s},
                    {"parameters", run.parameters},
                    {"weights_bytes", run.weights_bytes},
                    {"problems", run.problems}});
  }
  Json keys = Json::object();
  for (const DifferingKey& one : differing_keys(runs)) keys[one.key] = one.values;
  return {{"runs", list}, {"differing_keys", keys}, {"same_validation", !differs(runs, &ComparedRun::val)}};
}

std::vector<PlotPanel> comparison_panels(const std::vector<ComparedRun>& runs, bool over_minutes) {
  std::vector<PlotPanel> panels;
  const auto add = [&](const char* title, const char* column, Better better) {
    const bool known = std::any_of(runs.begin(), runs.end(),
                                   [&](const auto& run) { return run.curves.column(column) >= 0; });
    if (known) panels.push_back(panel_of(runs, title, column, better, over_minutes));
  };
  add("AP (mAP@0.5:0.95)", "AP", Better::higher);
  add("AP50 (mAP@0.5)", "AP50", Better::higher);
  add("AP75", "AP75", Better::higher);
  add("training loss", "loss", Better::lower);
  add("box loss", "box_loss", Better::lower);
  add("objectness loss", "objectness_loss", Better::lower);
  add("class loss", "class_loss", Better::lower);
  add("validation loss", "val_loss", Better::lower);
  add("learning rate", "learning_rate", Better::neither);
  return panels;
}

cv::Mat plot_comparison(const std::vector<ComparedRun>& runs, bool over_minutes) {
  return plot_panels(comparison_panels(runs, over_minutes), over_minutes ? "minutes of training" : "epoch");
}

}  // namespace brightnet
