#include "train/run/run_folder.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "core/error.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

fs::path numbered(const fs::path& wanted, int number) {
  return number == 1 ? wanted : fs::path(wanted.string() + '-' + std::to_string(number));
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
    const char* digits = other.c_str() + name.size() + 1;
    const char* last = other.c_str() + other.size();
    int number = 0;
    const auto [at, failed] = std::from_chars(digits, last, number);
    if (failed == std::errc() && at == last && number > 1 && *digits != '0') numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

RunFolder RunFolder::create(const fs::path& wanted) {
  const fs::path clean = wanted.lexically_normal().has_filename() ? wanted.lexically_normal()
                                                                  : wanted.lexically_normal().parent_path();
  const auto fail = [&](const std::error_code& error) {
    throw InputError("the run's folder cannot be created: " + error.message(), clean.string(),
                     "Choose another location with --out.");
  };
  std::error_code error;
  if (clean.has_parent_path()) fs::create_directories(clean.parent_path(), error);
  if (error) fail(error);
  // create_directory is atomic: two runs that start at the same time get two folders.
  int number = 1;
  while (!fs::create_directory(numbered(clean, number), error)) {
    if (error && error != std::errc::file_exists) fail(error);
    ++number;
  }
  RunFolder folder(numbered(clean, number));
  for (const char* inner : {"weights", "state"}) {
    fs::create_directory(folder.path_ / inner, error);
    if (error) fail(error);
  }
  return folder;
}

RunFolder RunFolder::open(const fs::path& path) {
  RunFolder folder(path.lexically_normal().has_filename() ? path.lexically_normal()
                                                          : path.lexically_normal().parent_path());
  for (const auto& needed : {folder.config(), folder.model(), folder.state()}) {
    if (fs::exists(needed)) continue;
    throw InputError("this run cannot be resumed: there is no " + needed.string(), path.string(),
                     "Name the folder of a run that has saved a state (runs/NAME).");
  }
  return folder;
}

RunFolder RunFolder::latest(const fs::path& wanted) {
  // Not the highest number: numbers of deleted folders are reused.
  std::optional<RunFolder> found;
  fs::file_time_type saved;
  for (const int number : numbers_of(wanted)) {
    const RunFolder folder(numbered(wanted, number));
    std::error_code error;
    const auto time = fs::last_write_time(folder.state(), error);
    if (error || !fs::exists(folder.config(), error) || !fs::exists(folder.model(), error)) continue;
    if (found && time < saved) continue;
    found = folder;
    saved = time;
  }
  if (!found) {
    throw InputError("there is no run to resume", wanted.string(),
                     "Give its folder: --resume runs/NAME. A run can be resumed once it has saved a state.");
  }
  return *found;
}

}  // namespace brightnet
