#include "tune/search_folder.h"

#include <sstream>

#include <fmt/format.h>

#include "core/files.h"
#include "core/json.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

fs::path plan_file(const fs::path& folder) {
  return folder / "state" / "search.json";
}

/// A path, or text with paths in it, which is read back as it is. JSON has no text that is not UTF-8: its bytes, as numbers.
Json exact(const std::string& text) {
  if (written_text(text) == text) return text;
  return std::vector<uint8_t>(text.begin(), text.end());
}

std::string read_exact(const Json& json) {
  if (!json.is_array()) return json.get<std::string>();
  std::string text;
  for (const Json& byte : json) text += static_cast<char>(whole_number<uint8_t>(byte));
  return text;
}

Json to_json(const SearchPlan& plan, const std::string& configuration) {
  Json assignments = Json::array();
  for (const std::string& assignment : plan.overrides.assignments) assignments.push_back(exact(assignment));
  return {{"config", exact(plan.config)},
          {"data", exact(plan.data)},
          {"assignments", assignments},
          {"keys", plan.keys},
          {"minutes", plan.minutes},
          {"epochs", plan.epochs},
          {"seed", plan.seed},
          {"trials", plan.trials},
          {"configuration", exact(configuration)}};
}

/// The result of `read` for a plan's file. Throws InputError where it is no such file.
template <typename Read>
auto from_plan(const fs::path& file, Read&& read) {
  try {
    return read(Json::parse(read_file(file)));
  } catch (const Json::exception&) {
    throw InputError("this is not the plan of a search", file.string(),
                     "Start a new one with another --out.");
  }
}

/// The first line of `now` that `before` does not have in its place, and that one.
std::string differing_line(const std::string& before, const std::string& now) {
  std::istringstream old_lines(before), new_lines(now);
  std::string old_line, new_line;
  do {
    old_line.clear();
    new_line.clear();
    std::getline(old_lines, old_line);
    std::getline(new_lines, new_line);
  } while (old_line == new_line && old_lines && new_lines);
  const auto words = [](const std::string& line) {
    const size_t begin = line.find_first_not_of(' ');
    return begin == std::string::npos ? std::string("nothing") : fmt::format("'{}'", line.substr(begin));
  };
  return "its configuration has " + words(old_line) + ", not " + words(new_line);
}

/// The differences between two plans; empty when the search can go on. Throws Json::exception.
std::string difference(const Json& before, const Json& now) {
  for (const char* key : {"keys", "minutes", "epochs", "seed"}) {
    const Json old = before.value(key, Json());
    if (old != now[key]) return fmt::format("its {} are {}, not {}", key, to_line(old), to_line(now[key]));
  }
  const std::string old = read_exact(before.value("configuration", Json(""))),
                    asked = read_exact(now["configuration"]);
  return old == asked ? "" : differing_line(old, asked);
}

}  // namespace

SearchFolder::SearchFolder(const fs::path& path, const SearchPlan& plan, const std::string& configuration)
    : path_(without_slash(path)) {
  std::error_code error;
  const fs::path file = plan_file(path_);
  const std::string remedy = "Name another folder with --out.";
  if (is_there(path_) && !is_there(file) && !fs::is_empty(path_, error)) {
    throw InputError("this folder exists and has no search", path_.string(), remedy);
  }
  create_folders(path_ / "state", error);
  if (!error) create_folders(path_ / "trials", error);
  if (error) throw InputError("the folder cannot be created: " + error.message(), path_.string(), remedy);
  lock_ = std::make_unique<RunLock>(RunFolder::at(path_));
  const Json now = to_json(plan, configuration);
  if (fs::exists(file) && fs::exists(table())) {
    const std::string other = from_plan(file, [&](const Json& before) { return difference(before, now); });
    if (!other.empty())
      throw InputError("this folder has the results of another search: " + other, path_.string(), remedy);
  }
  write_atomically(file, to_text(now));
}

fs::path SearchFolder::run(int trial) const {
  return path_ / "trials" / fmt::format("{:04}", trial);
}

fs::path SearchFolder::log(int trial) const {
  return path_ / "trials" / fmt::format("{:04}.log", trial);
}

SearchPlan read_plan(const fs::path& folder) {
  const fs::path file = plan_file(folder);
  if (!is_there(file)) {
    throw InputError("there is no search to resume: " + file.string() + " is missing", folder.string(),
                     "Name the folder of a search (runs/NAME-tune).");
  }
  return from_plan(file, [](const Json& json) {
    SearchPlan plan;
    plan.config = read_exact(json.at("config"));
    plan.data = read_exact(json.value("data", Json("")));  // older plans have it among the assignments
    for (const Json& assignment : json.at("assignments"))
      plan.overrides.assignments.push_back(read_exact(assignment));
    plan.keys = json.at("keys").get<std::vector<std::string>>();
    plan.minutes = json.at("minutes");
    plan.epochs = whole_number<int>(json.at("epochs"));
    plan.seed = whole_number<uint64_t>(json.at("seed"));
    plan.trials = whole_number<int>(json.at("trials"));
    return plan;
  });
}

}  // namespace brightnet
