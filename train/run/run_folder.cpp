#include "train/run/run_folder.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/config.h"
#include "core/error.h"
#include "core/files.h"
#include "core/printable.h"
#include "core/text.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

fs::path with_number(const fs::path& wanted, int number) {
  return number == 1 ? wanted : fs::path(wanted.string() + '-' + std::to_string(number));
}

/// Removes a trailing slash, and gives "." and ".." the name of their folder.
fs::path clean_path(const fs::path& path) {
  const fs::path name = path.lexically_normal().filename();
  return without_slash(name == "." || name == ".." ? fs::absolute(path) : path);
}

/// The sorted numbers of those of `wanted`, `wanted`-2, … that exist.
std::vector<int> numbers_of(const fs::path& wanted) {
  const std::string name = wanted.filename().string();
  std::vector<int> numbers;
  std::error_code error;
  const fs::path parent = wanted.has_parent_path() ? wanted.parent_path() : fs::path(".");
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
    const std::string other = entry->path().filename().string();
    if (other == name) numbers.push_back(1);
    if (other.rfind(name + '-', 0) != 0) continue;
    const std::string_view digits = std::string_view(other).substr(name.size() + 1);
    const auto number = parse_integer<int>(digits);
    if (number > 1 && !digits.starts_with('0')) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// A file's `train:`, after the settings in another; empty where they cannot be read.
YAML::Node train_section(const fs::path& file, const fs::path& settings) {
  std::error_code ignored;
  try {
    YamlDocument document =
        fs::exists(file, ignored) ? YamlDocument::load(file) : YamlDocument::parse("{}", file.string());
    if (fs::exists(settings, ignored)) {
      for (const TextLine& line : read_lines(settings)) document.set(line.text);
    }
    const YAML::Node root = document.root().node;
    if (root.IsMap() && root["train"].IsDefined() && root["train"].IsMap()) return root["train"];
  } catch (const InputError&) {  // told by whoever needs the file
  }
  return YAML::Node(YAML::NodeType::Map);
}

/// When a run was saved last or, without a state, begun; nothing where that cannot be read.
std::optional<fs::file_time_type> time_of(const RunFolder& run) {
  std::error_code error;
  const auto time = fs::last_write_time(run.saved() ? run.state() : run.config(), error);
  return error ? std::nullopt : std::optional(time);
}

}  // namespace

RunFolder RunFolder::create(const fs::path& wanted) {
  const fs::path clean = clean_path(wanted);
  const auto fail = [&](const std::error_code& error) {
    throw InputError("the run's folder cannot be created: " + error.message(), clean.string(),
                     "Choose another location with --out.");
  };
  std::error_code error, ignored;
  std::vector<fs::path> made;
  for (fs::path above = clean.parent_path(); !above.empty() && !fs::exists(above, ignored);
       above = above.parent_path())
    made.push_back(above);
  if (clean.has_parent_path()) create_folders(clean.parent_path(), error);
  if (error) fail(error);
  // create_directory is atomic: of two runs that start at the same time, one makes the subfolder.
  for (int number = 1;; ++number) {
    RunFolder folder(with_number(clean, number));
    fs::create_directory(folder.path_, error);
    if (error && error != std::errc::file_exists && error != std::errc::not_a_directory) fail(error);
    if (!fs::is_directory(folder.path_, ignored) || !fs::is_empty(folder.path_, ignored)) {
      if (error == std::errc::not_a_directory) fail(error);
      continue;
    }
    const bool ours = fs::create_directory(folder.state().parent_path(), error);
    if (error) fail(error);
    if (!ours) continue;
    fs::create_directory(folder.last().parent_path(), error);
    if (error) fail(error);
    flush_folder(clean.parent_path());
    flush_folder(folder.path_);
    folder.made_ = made;
    folder.is_new_ = true;
    return folder;
  }
}

RunFolder RunFolder::open(const fs::path& path) {
  RunFolder folder(clean_path(path));
  for (const auto& needed : {folder.config(), folder.model()}) {
    std::error_code failed;
    if (fs::exists(needed, failed)) continue;
    if (failed) {
      throw InputError("this folder of a run cannot be read: " + failed.message(), path.string(),
                       "Check the path and its permissions.");
    }
    throw InputError("this is not the folder of a run: there is no " + needed.string(), path.string(),
                     "Name the folder of a run (runs/NAME).");
  }
  return folder;
}

std::vector<RunFolder> RunFolder::numbered(const fs::path& wanted) {
  const fs::path clean = clean_path(wanted);
  std::vector<RunFolder> runs;
  for (const int number : numbers_of(clean)) {
    const RunFolder folder(with_number(clean, number));
    if (folder.begun() && !folder.lost_state()) runs.push_back(folder);
  }
  return runs;
}

std::vector<RunFolder> RunFolder::below(const fs::path& folder) {
  std::vector<std::pair<fs::file_time_type, RunFolder>> dated;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const RunFolder run(entry->path());
    if (!run.begun() || run.lost_state()) continue;
    if (const auto time = time_of(run)) dated.emplace_back(*time, run);
  }
  std::stable_sort(dated.begin(), dated.end(),
                   [](const auto& one, const auto& other) { return one.first > other.first; });
  std::vector<RunFolder> sorted;
  for (const auto& [time, run] : dated) sorted.push_back(run);
  return sorted;
}

std::optional<RunFolder> RunFolder::latest(const std::vector<RunFolder>& runs) {
  // Not the highest number: numbers of deleted folders are reused.
  std::optional<RunFolder> found;
  fs::file_time_type newest;
  for (const RunFolder& folder : runs) {
    const auto time = time_of(folder);
    if (!time || (found && *time < newest)) continue;
    found = folder;
    newest = *time;
  }
  return found;
}

bool RunFolder::begun() const {
  std::error_code ignored;
  return fs::exists(config(), ignored) && fs::exists(model(), ignored);
}

bool RunFolder::saved() const {
  std::error_code ignored;
  return fs::exists(state(), ignored);
}

bool RunFolder::lost_state() const {
  std::error_code ignored;
  return !saved() && fs::exists(last(), ignored);
}

std::string RunFolder::weights_of_new_run() const {
  std::error_code ignored;
  const auto option = [&](const char* name, const fs::path& file) {
    return fs::exists(file, ignored) ? fmt::format("{} {}", name, shell_path(file)) : "";
  };
  const YAML::Node train = train_section(config(), start());
  const auto text = [&](const char* key) { return train[key].as<std::string>(""); };
  if (!train["quantize"].as<bool>(false)) return option("--weights", last());
  std::string options = option("--weights", text("weights"));
  if (!options.empty() && !text("weights_cfg").empty())
    options += ' ' + option("--weights-cfg", text("weights_cfg"));
  return options;
}

std::string RunFolder::new_run() const {
  const std::string options = weights_of_new_run();
  return options.empty() ? "start a new run" : "start a new run with " + options;
}

fs::path RunFolder::snapshot(int64_t epoch) const {
  return path_ / "weights" / fmt::format("epoch_{:03}.safetensors", epoch);
}

bool RunFolder::make_missing_weights() const {
  const fs::path weights = last().parent_path();
  std::error_code error, ignored;
  if (fs::is_symlink(weights, ignored)) return false;
  const bool made = fs::create_directory(weights, error);
  if (error) {
    throw InputError("this folder of a run cannot be made: " + error.message(), weights.string(),
                     "Check that you may write there, and that nothing else has its name.");
  }
  if (made) flush_folder(path_);
  return made;
}

void RunFolder::remove_unused() const {
  std::error_code ignored;
  if (!is_new_ || saved() || fs::exists(last(), ignored) || fs::exists(best(), ignored)) return;
  for (const fs::path& file : {log(), start(), model(), state().parent_path() / "lock"})
    fs::remove(file, ignored);
  for (const fs::path& folder : {state().parent_path(), last().parent_path(), path_})
    fs::remove(folder, ignored);
  for (const fs::path& folder : made_) fs::remove(folder, ignored);
}

}  // namespace brightnet
