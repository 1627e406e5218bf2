#include "train/run_folder.h"

#include <optional>

#include "core/error.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

fs::path numbered(const fs::path& wanted, int number) {
  return number == 1 ? wanted : fs::path(wanted.string() + '-' + std::to_string(number));
}

}  // namespace

RunFolder RunFolder::create(const fs::path& wanted) {
  const fs::path clean = wanted.lexically_normal().has_filename() ? wanted.lexically_normal()
                                                                  : wanted.lexically_normal().parent_path();
  const auto fail = [&](const std::error_code& error) {
    throw InputError("the run's folder cannot be made: " + error.message(), clean.string(),
                     "Name another place with --out.");
  };
  std::error_code error;
  if (clean.has_parent_path()) fs::create_directories(clean.parent_path(), error);
  if (error) fail(error);
  // create_directory says atomically whether it was we who made it: two runs that start together get two
  // folders.
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
  std::optional<RunFolder> found;
  for (int number = 1; fs::exists(numbered(wanted, number)); ++number) {
    RunFolder folder(numbered(wanted, number));
    if (fs::exists(folder.state()) && fs::exists(folder.config()) && fs::exists(folder.model()))
      found = folder;
  }
  if (!found) {
    throw InputError("there is no run to resume", wanted.string(),
                     "Give its folder: --resume runs/NAME. A run can be resumed once it has saved a state.");
  }
  return *found;
}

}  // namespace brightnet
