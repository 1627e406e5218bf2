#include "train/setup/resume.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/files.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/text.h"
#include "layers/model/writer.h"
#include "train/loop/training_plan.h"
#include "train/run/checkpoint.h"
#include "train/setup/automatic_head.h"
#include "train/setup/known_runs.h"
#include "train/setup/model.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

bool begins_with_any(const std::string& key, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](const char* part) { return key.rfind(part, 0) == 0; });
}

bool sets_length(const std::string& key) {
  return begins_with_any(key, {"train.epochs", "train.iterations", "train.minutes"});
}

/// Keys that may change when a run is resumed: not those by which its scores so far were measured, nor the one that decides
/// about the order of its samples.
bool may_change(const std::string& key) {
  if (key == "evaluate.best_by" || key == "evaluate.size" || key == "loader.shuffle_buffer") return false;
  return sets_length(key) ||
         begins_with_any(key, {"name", "loader.", "evaluate.", "data.root", "train.log_every",
                               "train.save_every", "train.save_epochs", "train.patience", "train.average",
                               "train.memory_fraction", "train.micro_batch", "train.comm_timeout",
                               "train.restarts", "train.overlap", "train.graph", "train.recompute"}) ||
         key == "train.teacher" || key == "train.teacher_cfg";  // the file is known by its SHA-256
}

void refuse_changes(const RunConfig& before, const RunConfig& after, const RunFolder& folder) {
  if (after.train.minutes > 0 && after.train.minutes != before.train.minutes) {
    throw InputError(
        before.train.minutes > 0
            ? "a run cannot be given another time limit: its learning rate decays with the first"
            : "a run that has begun cannot be given a time limit",
        "--resume",
        "Give it a length, --epochs N --set train.minutes=0, or " + folder.new_run() + " instead.");
  }
  for (const auto& [key, old_value, new_value] : compare(before, after)) {
    if (may_change(key)) continue;
    throw InputError(
        "the run began with " + key + " = " + old_value + " and cannot be resumed with " + new_value,
        "--resume", "Leave it as it was, or " + folder.new_run() + " instead.");
  }
}

void refuse_options_of_new_runs(const RunRequest& request) {
  const std::pair<const char*, bool> starts[] = {{"--weights", !request.weights.empty()},
                                                 {"--weights-cfg", !request.weights_cfg.empty()},
                                                 {"--weights-partial", request.weights_partial}};
  for (const auto& [option, given] : starts) {
    if (!given) continue;
    throw InputError("a run that is resumed continues with its own weights", option,
                     std::string("Leave out ") + option + " to resume, or --resume to start a new run.");
  }
  if (request.resume.empty() || request.out.empty()) return;
  const auto place = [](const std::string& path) { return fs::weakly_canonical(fs::path(path) / "."); };
  if (place(request.resume) == place(request.out)) return;
  throw InputError("a run continues in its own folder, " + request.resume + ", not in " + request.out,
                   "--out",
                   "Leave out --out; a copy of the folder (cp -r) can be resumed on its own as well.");
}

bool has_steps_left(const TrainOptions& train, Progress progress, int64_t images) {
  if (train.minutes == 0) progress.plans.clear();
  RunLength length(train, images);
  length.resume(train, progress);
  return !length.run_trained(progress);
}

/// Keys that a run resolves itself or stores elsewhere. `asked` is the value in the named configuration.
bool is_its_own(const std::string& key, const std::string& asked) {
  if (asked == "auto" || (key == "train.sizes" && asked == "[]")) return true;
  if (is_chosen_with_head(key) && asked == not_given) return true;
  return key == "name" || key == "model" || key == "train.fresh" || key == "train.teacher_sha256" ||
         key.rfind("train.weights", 0) == 0;
}

/// An assignment of the option that names the model; the run has its own file of it.
bool names_model(const std::string& assignment) {
  return assignment.rfind("--model:", 0) == 0;
}

/// Whether the request says what the run began with: by a configuration, or by a model and data.
bool names_configuration(const RunRequest& request) {
  return !request.config.empty() ||
         std::any_of(request.overrides.assignments.begin(), request.overrides.assignments.end(), names_model);
}

/// Leaves out the model, and assignments of `auto` to values that must not change: the run has chosen them.
Overrides without_chosen(const Overrides& overrides) {
  Overrides others = overrides;
  others.assignments.clear();
  for (const std::string& assignment : overrides.assignments) {
    const std::string plain = without_option(assignment);
    const size_t equals = plain.find('=');
    const std::string value = equals == std::string::npos ? "" : plain.substr(equals + 1);
    const bool automatic = value == "auto" || value == yaml_quoted("auto");
    // `--size` says that there are no others; the run has chosen those through which its input grows.
    if (names_model(assignment) || assignment == "--size:train.sizes=[]") continue;
    if (!automatic || (may_change(plain) && !sets_length(plain))) others.assignments.push_back(assignment);
  }
  return others;
}

bool is_other_model(const OpenRun& run, const Model& model) {
  RunConfig asked = *run.asked;
  asked.head = run.config.head;  // its differences are listed key by key
  asked.train.freeze = {};
  try {
    const Model other = load_model(asked, model.classes);
    return other.name != model.name || other.size != model.size || other.channels != model.channels ||
           !same_layers(other.layers, model.layers);
  } catch (const InputError&) {
    return true;
  }
}

/// What there is to resume, for somebody who has named none of it.
std::string runs_here() {
  constexpr size_t most = 5;
  std::vector<std::string> names;
  for (const RunFolder& folder : RunFolder::below("runs")) names.push_back(folder.path().string());
  if (names.empty()) return "There is no run below runs/.";
  const std::string newest = shell_path(names[0]);
  const std::string more = names.size() > most ? fmt::format(" and {} more", names.size() - most) : "";
  names.resize(std::min(names.size(), most));
  return fmt::format("Here are, the newest first, {}{}: --resume {}.", fmt::join(names, ", "), more, newest);
}

/// Whether the run began with a configuration of this name: runs/bolts-2 is the second run of bolts.yaml, or the first of
/// bolts-2.yaml. One whose configuration cannot be read says so when it is resumed.
bool has_name(const RunFolder& folder, const std::string& name) {
  try {
    return load_run_config(folder.config(), {}, false).name == name;
  } catch (const InputError&) {
    return true;
  }
}

/// The name of the run's network, where it is another than that of `asked`, whatever its input, heads and frozen layers; else "".
std::string other_model(const RunConfig& run, RunConfig asked) {
  const int classes = std::max(1, static_cast<int>(run.data.classes.size()));
  RunConfig own = run;
  own.head = {};  // its model has them
  asked.head = run.head;
  asked.input = run.input;
  asked.train = run.train;
  asked.train.freeze = own.train.freeze = {};
  asked.evaluate.size = run.evaluate.size;
  const Model model = load_model(own, classes);
  try {
    const Model other = load_model(asked, classes);
    return other.name != model.name || !same_layers(other.layers, model.layers) ? model.name : "";
  } catch (const InputError&) {  // one for other sizes
    return model.name;
  }
}

/// Whether these are other data than the run's. Where its folder of data has gone, it may have been moved to this one.
bool has_other_data(const DataOptions& run, const DataOptions& asked) {
  std::error_code failed;
  return run.format != asked.format || run.train != asked.train || run.val != asked.val ||
         (fs::is_directory(run.root, failed) && !fs::equivalent(run.root, asked.root, failed));
}

/// What the run was begun with, where --model and --data ask for another; "" where they ask for the same. A run that cannot
/// be read says so when it is resumed.
std::string of_another(const RunFolder& folder, const RunRequest& request, const RunConfig& asked) {
  try {
    const RunConfig run = load_run_config(folder.config(), {}, false);
    if (const std::string model = other_model(run, asked); !model.empty())
      return fmt::format("the model {} ({}), not {}", model, folder.model().string(), asked.model);
    if (!request.overrides.data || !has_other_data(run.data, asked.data)) return "";
    const auto place = [&](const DataOptions& data) {
      const std::string validation = run.data.val == asked.data.val ? "" : fmt::format(" and '{}'", data.val);
      const std::string format =
          run.data.format == asked.data.format ? "" : fmt::format(" ({})", data.format->name);
      return fmt::format("{}{} in {}{}", data.train, validation, data.root, format);
    };
    return fmt::format("the data {}, not {}", place(run.data), place(asked.data));
  } catch (const InputError&) {
    return "";
  }
}

/// Leaves out runs of another model or other data than --model and --data name: a run has its name from the data's folder,
/// which many runs share. Throws InputError where none is left.
std::vector<RunFolder> of_these(const std::vector<RunFolder>& runs, const RunRequest& request,
                                const RunConfig& asked) {
  std::vector<RunFolder> left;
  for (const RunFolder& run : runs) {
    if (of_another(run, request, asked).empty()) left.push_back(run);
  }
  const auto latest = RunFolder::latest(runs);
  if (!left.empty() || !latest) return left;
  const std::string folder = latest->path().string();
  throw InputError(
      fmt::format("{} is of {}", folder, of_another(*latest, request, asked)), "--resume",
      fmt::format(
          "To go on with that run, name its folder: brightnet train --resume {}. Without --resume a new "
          "run begins.",
          shell_path(folder)));
}

/// The runs in `wanted`, `wanted`-2, …; where no folder was named, those of the configuration of this name alone.
std::vector<RunFolder> runs_at(const fs::path& wanted, const std::string& name) {
  std::vector<RunFolder> runs = RunFolder::numbered(wanted);
  if (!name.empty()) std::erase_if(runs, [&](const RunFolder& run) { return !has_name(run, name); });
  return runs;
}

}  // namespace

RunRequest with_run_found(const RunRequest& request) {
  if (!request.resuming) return request;
  refuse_options_of_new_runs(request);
  RunRequest found = request;
  if (request.resume.empty()) {
    std::vector<RunFolder> runs;
    fs::path wanted = request.out;
    if (wanted.empty()) {
      if (!names_configuration(request)) {
        throw InputError(
            "there is nothing to resume: no run was named", "--resume",
            "Name a run's folder (--resume runs/NAME) or the configuration it began with. " + runs_here());
      }
      found.loaded = load_run_config(request.config, request.overrides);
      wanted = fs::path("runs") / found.loaded->name;
      runs = listed_runs(wanted);
    }
    for (const RunFolder& run : runs_at(wanted, found.loaded ? found.loaded->name : "")) runs.push_back(run);
    if (found.loaded && request.config.empty()) runs = of_these(runs, request, *found.loaded);
    const auto latest = RunFolder::latest(runs);
    if (!latest) {
      throw InputError(
          "there is no run to resume", wanted.string(),
          "Give its folder: --resume runs/NAME. Without --resume a new run begins. " + runs_here());
    }
    found.resume = latest->path().string();
  }
  found.out.clear();
  const RunFolder folder = RunFolder::open(found.resume);
  if (folder.lost_state()) {
    throw InputError("this run cannot be resumed: its weights are there, but not " + folder.state().string(),
                     folder.path().string(), "Put it back, or " + folder.new_run() + " instead.");
  }
  found.begin_again = !folder.saved();
  found.resuming = folder.saved();
  return found;
}

OpenRun open_old_run(const RunRequest& request) {
  std::optional<RunConfig> asked;
  if (names_configuration(request))
    asked = request.loaded ? *request.loaded : load_run_config(request.config, request.overrides);
  const Overrides overrides = without_chosen(request.overrides);
  RunFolder folder = RunFolder::open(request.resume);
  // Its data may be elsewhere by now; where they are is asked for below.
  const RunConfig before = load_run_config(folder.config(), {}, false);
  // With micro_batch: auto, so that a changed batch size is reported as such, not as indivisible.
  Overrides with_any_micro_batch = overrides;
  with_any_micro_batch.assignments.emplace_back("train.micro_batch=auto");
  refuse_changes(before, load_run_config(folder.config(), with_any_micro_batch), folder);
  OpenRun run{.config = load_run_config(folder.config(), overrides),
              .folder = std::move(folder),
              .asked = std::move(asked)};
  Overrides over_automatic = overrides;
  over_automatic.assignments.insert(over_automatic.assignments.begin(),
                                    {"train.micro_batch=auto", "loader.cache_mb=auto"});
  const RunConfig set = load_run_config(run.folder.config(), over_automatic);
  run.sets_micro_batch = set.train.micro_batch.has_value();
  run.sets_cache = set.loader.cache_mb.has_value();
  for (const auto& [key, old_value, new_value] : compare(before, run.config)) {
    run.changed = true;
    run.new_length |= sets_length(key);
  }
  // The run of an earlier version, whose inputs did not grow and which took simota's best candidates from the start.
  if (!run.config.train.grow.has_value()) run.config.train.grow = 0;
  if (!run.config.train.static_assignment.has_value()) run.config.train.static_assignment = 0;
  return run;
}

RunConfig config_of_begun_run(const RunRequest& request) {
  RunConfig config = open_old_run(request).config;
  const RunFolder folder = RunFolder::open(request.resume);
  if (!fs::exists(folder.start())) return config;
  Overrides overrides = without_chosen(request.overrides);
  for (const TextLine& line : read_lines(folder.start())) overrides.assignments.push_back(line.text);
  return load_run_config(folder.config(), overrides);
}

bool fit_warmup(const RunRequest& request, int64_t images, RunConfig& config, bool says) {
  const RunFolder folder = RunFolder::open(request.resume);
  TrainOptions before = load_run_config(folder.config(), {}, false).train;
  const TrainOptions& train = config.train;
  // What the folder leaves to the program it has just chosen.
  if (!before.batch.has_value()) before.batch = train.batch;
  if (!before.epochs.has_value() && before.minutes == 0) before.epochs = train.epochs;
  if (before.epochs.value_or(0) == train.epochs.value_or(0) && before.iterations == train.iterations &&
      before.minutes == train.minutes)
    return false;
  const Progress progress = request.resuming ? read_state(folder.state()).progress : Progress();
  const RunLength length(train, images);
  ScheduleOptions& schedule = config.schedule;
  const int64_t set = schedule.in_steps(schedule.warmup, length.steps_per_epoch());
  const int64_t steps = warmup_of_new_length(config, before, progress, images);
  if (steps == set) return has_steps_left(train, progress, images);
  schedule.warmup =
      static_cast<float>(steps) / static_cast<float>(schedule.in_steps(1, length.steps_per_epoch()));
  if (says)
    log::info("The warm-up (schedule.warmup) takes {} of the {} that the run has now, instead of {}.",
              counted(steps, "step", "steps"), length.steps(), set);
  return true;
}

void write_start(const RunFolder& folder, const TrainOptions& train) {
  if (train.weights.empty()) return;
  std::string text = "train.weights=" + yaml_quoted(train.weights) + '\n';
  if (!train.weights_cfg.empty()) text += "train.weights_cfg=" + yaml_quoted(train.weights_cfg) + '\n';
  if (train.weights_partial) text += "train.weights_partial=true\n";
  write_atomically(folder.start(), text);
}

std::string describe_differences(const OpenRun& run, const std::string& asked_file, const Model& model) {
  if (!run.asked) return "";
  const std::string place = asked_file.empty() ? "the command line" : asked_file;
  // By --model alone nothing is said about the data.
  const bool asks_for_data = !asked_file.empty() || !run.asked->data.train.empty();
  std::string lines, free;
  for (const auto& [key, kept, asked] : compare(run.config, *run.asked)) {
    if (is_its_own(key, asked) || (key.starts_with("data.") && !asks_for_data)) continue;
    // Of --data the keys are found, and not said one by one.
    const bool said = run.asked->says(key) || key.starts_with("data.");
    lines +=
        fmt::format("\n  {}: {} in the run, {} {}", key, kept, asked, said ? "in " + place : "by default");
    if (may_change(key)) free += (free.empty() ? "" : ", ") + key;
  }
  if (is_other_model(run, model)) lines += fmt::format("\n  model: not the one in {}", place);
  if (lines.empty()) return "";
  std::string text = fmt::format(
      "The run keeps its own configuration, {}, from which {} differs:{}\n"
      "To train with the other values, {} instead.",
      run.folder.config().string(), place, lines, run.folder.new_run());
  if (!free.empty()) text += fmt::format(" These may also change within the run, by --set: {}.", free);
  return text;
}

}  // namespace brightnet
