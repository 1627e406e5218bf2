#include "train/config/config.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "core/files.h"
#include "core/printable.h"
#include "core/text.h"
#include "data/formats/data_yaml.h"
#include "formats/darknet/import.h"
#include "formats/download/published_weights.h"
#include "formats/weights.h"
#include "kernels/math/loss_scaler.h"
#include "train/config/models.h"

namespace brightnet {
namespace {

/// The stride of most models, to whose multiples the widths of `sizes` are rounded.
constexpr int usual_stride = 32;

namespace fs = std::filesystem;

void collect_leaves(const YAML::Node& node, const std::string& path,
                    std::map<std::string, std::string>& out) {
  if (!node.IsMap()) {
    YAML::Emitter text;
    text << YAML::Flow << node;
    out[path] = text.c_str();
    return;
  }
  for (const auto& entry : node) {
    collect_leaves(entry.second, path.empty() ? entry.first.Scalar() : path + '.' + entry.first.Scalar(),
                   out);
  }
}

std::map<std::string, std::string> leaves(const RunConfig& config) {
  std::map<std::string, std::string> out;
  collect_leaves(YAML::Load(print_config(config, false)), "", out);
  return out;
}

YamlValue child(const YamlValue& value, const char* key) {
  const YAML::Node& node = value.node;
  if (!value.defined() || !node.IsMap()) return {YAML::Node(YAML::NodeType::Undefined), value.file};
  return {node[key], value.file};
}

/// Where "section.key" was set; the file when it was not.
std::string place_of(const YamlValue& value, const std::string& path) {
  const size_t dot = path.find('.');
  const YamlValue next = child(value, path.substr(0, dot).c_str());
  if (!next.node.IsDefined()) return value.file;
  return dot == std::string::npos ? next.where() : place_of(next, path.substr(dot + 1));
}

/// The place where a path was given: the start of relative paths depends on it.
struct Giver {
  Giver(const YamlValue& value) : where(value.where()), on_command_line(value.from_command_line()) {}
  explicit Giver(const char* option) : where(option), on_command_line(true) {}
  std::string where;
  bool on_command_line;
};

void resolve_file(std::string& path, const Giver& giver, const std::string& key, const fs::path& folder) {
  if (path.empty()) return;
  const fs::path found = find_path(path, folder, giver.on_command_line);
  if (found.empty()) {
    const std::string first = without_slash(fs::absolute(folder)).string(),
                      second = fs::current_path().string();
    const bool is_absolute = fs::path(path).is_absolute();
    std::string remedy = is_absolute ? "Correct the path" : "It was looked for in " + first;
    if (!is_absolute && first != second) remedy += " and in " + second;
    if (key == "data.root" && !giver.on_command_line)
      remedy += ". Where the data are elsewhere now, say so: --set data.root=FOLDER";
    throw InputError("'" + key + "' names '" + path + "', which does not exist", giver.where, remedy);
  }
  path = found.string();
}

/// A file of this name is taken before the model of this name.
void resolve_model(std::string& model, const YamlValue& value, const fs::path& folder) {
  if (is_model_name(model)) {
    const fs::path file = find_path(model, folder, value.from_command_line());
    if (file.empty() || is_folder(file)) {
      model = model_file(model, value.where()).string();
      return;
    }
  }
  resolve_file(model, value, "model", folder);
}

/// A file of this path is taken before published weights of this name, which need not have been fetched yet; nor need those
/// whose place is named, as `config` and `data split` write it.
void resolve_weights(std::string& weights, const YamlValue& value, const fs::path& folder) {
  const fs::path found = weights.empty() ? fs::path() : find_path(weights, folder, value.from_command_line());
  if ((found.empty() || is_folder(found)) && !weights.empty()) {
    const fs::path path = weights;
    const std::string name = is_in_weights_folder(path) ? path.filename().string() : weights;
    if (const auto published = find_published_weights(name)) {
      weights = (weights_folder() / published->file).string();
      return;
    }
  }
  resolve_file(weights, value, "train.weights", folder);
  weights = weights_of_run(weights).string();
}

/// A file that has gone is an error of whoever opens it: a run that is over is read without its teacher.
void resolve_teacher(TrainOptions& train, const YamlValue& section, const fs::path& folder) {
  for (auto [path, key] :
       {std::pair(&train.teacher, "teacher"), std::pair(&train.teacher_cfg, "teacher_cfg")}) {
    if (path->empty()) continue;
    const YamlValue value = child(section, key);
    if (const fs::path found = find_path(*path, folder, value.defined() && value.from_command_line());
        !found.empty())
      *path = found.string();
  }
  if (!train.teacher.empty()) train.teacher = weights_of_run(train.teacher).string();
}

/// The folder of the data, or a folder above it with a name that tells more; then the model's name.
std::string name_of_run(const RunConfig& config) {
  static const std::set<std::string> telling_nothing{
      "", "data", "dataset", "datasets", "images", "train", "export", "yolo", "voc", "coco", "darknet", "."};
  if (!config.data.train.empty()) {
    for (fs::path folder = config.data.root; folder.has_relative_path(); folder = folder.parent_path()) {
      const std::string name = folder.filename().string();
      if (!telling_nothing.contains(name)) return name;
    }
  }
  const std::string model = fs::path(config.model).stem().string();
  return model.empty() ? "run" : model;
}

/// The keys that a data set says: where it is, and what is otherwise than if nothing were said.
std::vector<std::string> said_keys(const DataOptions& data) {
  const DataOptions unsaid;
  std::vector<std::string> keys{"format", "root", "train", "val", "test"};
  if (!data.classes.empty() || !data.names.empty()) keys.emplace_back("classes");
  if (!data.names.empty()) keys.emplace_back("names");
  if (!data.kpt_shape.empty()) keys.emplace_back("kpt_shape");
  if (!data.map.empty()) keys.emplace_back("map");
  if (data.single_class) keys.emplace_back("single_class");
  if (!data.target_class_mapping.empty()) keys.emplace_back("target_class_mapping");
  if (data.fold) keys.emplace_back("fold");
  if (data.include_difficult_in_training != unsaid.include_difficult_in_training)
    keys.emplace_back("include_difficult_in_training");
  if (data.tiles != unsaid.tiles) keys.emplace_back("tiles");
  if (data.max_pixels != unsaid.max_pixels) keys.emplace_back("max_pixels");
  return keys;
}

/// The data set of the command line. What it says is taken from the `data:` section of the document, which is read over
/// it.
void take_data(const Overrides& overrides, YAML::Node document, RunConfig& config) {
  if (overrides.data) {
    config.data = *overrides.data;
    config.of_data_option = said_keys(config.data);
  }
  if (overrides.fold) {
    config.data.fold = overrides.fold;
    config.of_data_option.emplace_back("fold");
  }
  if (!std::as_const(document)["data"].IsDefined() || !document["data"].IsMap()) return;
  for (const std::string& key : config.of_data_option) document["data"].remove(key);
}

/// A specification of NVIDIA TAO: protobuf's text, or its YAML. Its sections are no keys of ours.
void refuse_tao_specification(const fs::path& file) {
  for (const TextLine& line : read_lines(file)) {
    for (const char* section : {"yolov4_config", "yolov4_tiny_config", "yolov3_config", "dataset_config",
                                "training_config", "augmentation_config"}) {
      const std::string_view text = line.text;
      if (!text.starts_with(section)) continue;
      const std::string_view rest = trimmed(text.substr(std::string_view(section).size()));
      if (!rest.starts_with('{') && !rest.starts_with(':')) continue;
      throw InputError(
          "this is a specification of NVIDIA TAO", at_line(file, line.number),
          "docs/migrate.md (NVIDIA TAO) has brightnet's key for each of its; the data are named by --data.");
    }
  }
}

/// The document that describes the run, but for the data set of the command line, which `config` gets. Throws InputError
/// when there is nothing in it.
YamlDocument read_document(const fs::path& file, const DarknetImport* import, const Overrides& overrides,
                           RunConfig& config) {
  std::error_code failed;  // what cannot be looked at is refused where it is read
  if (fs::is_directory(file, failed)) {
    throw InputError("this is a folder, and a run's YAML was expected", file.string(),
                     "A data set is named with --data, a run to go on with by --resume.");
  }
  if (file.extension() == ".data" && fs::exists(file, failed)) {
    throw InputError("this is darknet's description of a data set, not a run", file.string(),
                     "Name it with --data, and the model's .cfg in its place (brightnet train X.cfg --data " +
                         shell_path(file) + ")");
  }
  if (!import && !file.empty()) refuse_tao_specification(file);
  YamlDocument document = import ? YamlDocument::parse(import->recipe_yaml, file.string() + " (its recipe)")
                          : file.empty() ? YamlDocument::parse("", "the command line")
                                         : YamlDocument::load(file);
  if (!file.empty() && describes_data(document.root())) {
    throw InputError(
        "this YAML describes a data set, not a run", file.string(),
        "Name it with --data, and the model with --model (brightnet train --model yolov4-tiny --data " +
            shell_path(file) + ")");
  }
  if (!file.empty() && !import && child(document.root(), "layers").defined()) {
    throw InputError("this YAML describes a model, not a run", file.string(),
                     "Name it with --model, and the data set with --data (brightnet train --model " +
                         shell_path(file) + " --data DATA)");
  }
  take_data(overrides, document.root().node, config);
  for (const auto& assignment : overrides.assignments) document.set(assignment);
  const YamlValue root = document.root();
  const bool says_something =
      overrides.data ||
      (file.empty() ? child(root, "model").defined() || child(root, "data").defined() : root.node.size() > 0);
  if (says_something) return document;
  throw InputError(
      file.empty() ? "no configuration was given" : "this file is empty", file.string(),
      "Name a data set with --data, and for a run also a model: brightnet train --model yolov4-tiny --data DATA; "
      "or give a run's YAML: those in configs/ are examples.");
}

/// The micro-batch of a .cfg belongs to its own batch. Beside another one, which is yet to be chosen or which it does not
/// divide, it is automatic, unless the user gives it as well. `section` is the recipe's, with the command line's values.
void fit_recipes_micro_batch(TrainOptions& train, const YamlValue& section) {
  if (section.from_command_line() || child(section, "micro_batch").from_command_line()) return;
  if (!train.micro_batch.has_value()) return;
  if (!train.batch.has_value() || train.batch % train.micro_batch != 0) train.micro_batch = {};
}

void check_batches(const RunConfig& config, const YamlValue& train) {
  const Auto<int>&batch = config.train.batch, &micro_batch = config.train.micro_batch;
  if (batch.has_value() && micro_batch.has_value() && batch % micro_batch != 0) {
    throw InputError("'micro_batch' is " + std::to_string(micro_batch) + " and must divide 'batch', " +
                         std::to_string(batch),
                     child(train, "micro_batch").where(),
                     fmt::format("Set it to {}, or to auto (--set train.micro_batch=auto).",
                                 std::gcd(batch.value(), micro_batch.value())));
  }
}

void check_schedule(const ScheduleOptions& schedule, const YamlValue& value) {
  if (!schedule.scales.empty() && schedule.scales.size() != schedule.steps.size()) {
    throw InputError("'scales' has " + std::to_string(schedule.scales.size()) + " entries and 'steps' " +
                         std::to_string(schedule.steps.size()) + ": one factor for each step is needed",
                     child(value, "scales").where());
  }
  if (!std::is_sorted(schedule.steps.begin(), schedule.steps.end()))
    throw InputError("'steps' must be in ascending order", child(value, "steps").where());
}

/// The gradient is divided by the scale, which must not overflow.
void check_loss_scale(const OptimizerOptions& optimizer, const YamlValue& value) {
  if (optimizer.loss_scale == 0 || optimizer.loss_scale >= smallest_loss_scale) return;
  throw InputError(fmt::format("'loss_scale' is {:g} and must be 0 or at least {:g}", optimizer.loss_scale,
                               smallest_loss_scale),
                   child(value, "loss_scale").where());
}

/// Advice for a batch that these ranks cannot share, where the batch may change.
std::string other_batch(int batch, int ranks) {
  const int below = batch / ranks * ranks, above = below + ranks;
  return "Set it to " + (below > 0 ? std::to_string(below) + " or " : "") + std::to_string(above) +
         " (--set train.batch=" + std::to_string(above) + "), or start another number of ranks.";
}

/// The same, where only the number of ranks may: the nearest ones that can share it.
std::string other_ranks(int batch, int ranks) {
  int below = std::min(ranks, batch), above = ranks;
  while (batch % below != 0) --below;
  while (above <= batch && batch % above != 0) ++above;
  const std::string more = above <= batch ? " or " + std::to_string(above) : "";
  return "A run keeps its batch: start " + std::to_string(below) + more +
         (more.empty() && below == 1 ? " rank." : " ranks.");
}

}  // namespace

std::map<std::string, std::string> TrainOptions::files() const {
  std::map<std::string, std::string> given{
      {"weights", weights}, {"weights_cfg", weights_cfg}, {"teacher", teacher}, {"teacher_cfg", teacher_cfg}};
  std::erase_if(given, [](const auto& key) { return key.second.empty(); });
  return given;
}

std::string RunConfig::where(const std::string& key) const {
  const bool of_option = std::any_of(of_data_option.begin(), of_data_option.end(),
                                     [&](const std::string& own) { return key == "data." + own; });
  if (of_option && !says(key)) return "--data";
  return source ? place_of(*source, key) : "";
}

bool RunConfig::says(const std::string& key) const {
  return source && place_of(*source, key) != source->file;
}

std::vector<InputSize> RunConfig::input_sizes() const {
  const std::set<InputSize> unique(train.sizes.begin(), train.sizes.end());
  return unique.empty() ? std::vector<InputSize>{train.size.value()}
                        : std::vector<InputSize>(unique.begin(), unique.end());
}

RunConfig load_run_config(const fs::path& file, const Overrides& overrides, bool needs_data) {
  // A darknet .cfg contains both the model and the training settings.
  std::shared_ptr<const DarknetImport> own_import;
  if (is_darknet_cfg(file)) own_import = std::make_shared<const DarknetImport>(import_darknet(file));
  RunConfig config;
  const YamlDocument document = read_document(file, own_import.get(), overrides, config);
  const YamlValue root = document.root();
  const YamlValue kind = child(child(root, "optimizer"), "kind");
  if (kind.defined() && kind.node.IsScalar()) {
    if (const auto named = enum_value<OptimizerKind>(kind.node.Scalar()))
      config.optimizer = OptimizerOptions::of(*named);
  }
  read_config(root, config);
  config.source = std::make_shared<const YamlValue>(root);

  const fs::path folder = file.empty() ? fs::current_path() : fs::absolute(file).parent_path();
  resolve_model(config.model, child(root, "model"), folder);
  if (is_darknet_cfg(config.model)) {
    const bool same = own_import && fs::equivalent(file, config.model);
    config.imported = same ? own_import : std::make_shared<const DarknetImport>(import_darknet(config.model));
  }
  const YamlValue data = child(root, "data");
  const bool has_root = child(data, "root").defined();
  // Without `root`, relative paths start in the YAML's folder.
  if (overrides.data && !has_root) {
    resolve_file(config.data.root, Giver("--data"), "data.root", folder);
  } else if (!has_root) {
    config.data.root = fs::absolute(folder).lexically_normal().string();
  } else if (!needs_data && find_path(config.data.root, folder, false).empty()) {
    config.data.root = (folder / config.data.root).lexically_normal().string();
  } else {
    resolve_file(config.data.root, child(data, "root"), "data.root", folder);
  }
  std::error_code ignored;
  if (!overrides.data && lacks_layout(data) && fs::is_directory(config.data.root, ignored)) {
    const Fold fold = config.data.fold;
    take_layout(data, config.data);
    config.data.fold = fold;
  }
  if (config.name.empty()) {
    config.name = file.empty() ? name_of_run(config) : file.stem().string();
    // One that was asked for, and not for lack of validation images.
    if (config.data.fold && config.where("data.fold") != "--data")
      config.name += fmt::format("-fold{}", config.data.fold.part);
  }
  if (config.name.find('/') != std::string::npos || config.name == "." || config.name == "..") {
    throw InputError("'name' is '" + config.name + "' and must be a name, not a path",
                     child(root, "name").where());
  }
  const YamlValue train = child(root, "train");
  resolve_weights(config.train.weights, child(train, "weights"), folder);
  resolve_teacher(config.train, train, folder);
  resolve_file(config.train.weights_cfg, child(train, "weights_cfg"), "train.weights_cfg", folder);
  if (own_import) fit_recipes_micro_batch(config.train, train);
  check_batches(config, train);
  keep_ratio(config.train, child(train, "sizes").where());
  check_schedule(config.schedule, child(root, "schedule"));
  check_loss_scale(config.optimizer, child(root, "optimizer"));
  return config;
}

std::optional<InputSize> with_ratio_of(const InputSize& size, const InputSize& other) {
  if (other.square() && !size.square())
    return InputSize(other.height, with_height(size, other.height, usual_stride).width);
  const double ratio = static_cast<double>(size.width) / size.height;
  if (std::abs(other.width - ratio * other.height) > usual_stride * (1 + ratio)) return std::nullopt;
  return other;
}

void keep_ratio(TrainOptions& train, const std::string& where) {
  if (!train.size.has_value()) return;
  const InputSize& size = train.size.value();
  for (InputSize& other : train.sizes) {
    const auto kept = with_ratio_of(size, other);
    if (!kept) {
      throw InputError("'sizes' has " + other.described() + ", and 'size' is " + size.described() +
                           ": the sizes of a run have one ratio of width and height",
                       where, "Write heights alone; the widths follow from them.");
    }
    other = *kept;
  }
}

int batch_of_rank(const TrainOptions& train, int ranks) {
  return train.batch / ranks;
}

void check_batch(const TrainOptions& train, int ranks, bool resuming) {
  if (!train.batch.has_value()) return;
  if (train.batch % ranks != 0) {
    throw InputError("'train.batch' is " + std::to_string(train.batch) + ", which " + std::to_string(ranks) +
                         " ranks cannot share equally",
                     "", resuming ? other_ranks(train.batch, ranks) : other_batch(train.batch, ranks));
  }
  const int part = batch_of_rank(train, ranks);
  if (resuming || !train.micro_batch.has_value() || part % train.micro_batch == 0) return;
  throw InputError(
      "'train.micro_batch' is " + std::to_string(train.micro_batch) +
          " and must divide a rank's share of the batch, " + std::to_string(part),
      "", "Set it to " + std::to_string(std::gcd(part, train.micro_batch.value())) + ", or to auto.");
}

std::vector<ConfigDifference> compare(const RunConfig& before, const RunConfig& after) {
  const auto a = leaves(before), b = leaves(after);
  std::set<std::string> keys;
  for (const auto& [key, value] : a) keys.insert(key);
  for (const auto& [key, value] : b) keys.insert(key);
  const auto text = [](const auto& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? std::string(not_given) : found->second;
  };
  std::vector<ConfigDifference> differences;
  for (const auto& key : keys) {
    if (text(a, key) != text(b, key)) differences.push_back({key, text(a, key), text(b, key)});
  }
  return differences;
}

}  // namespace brightnet
