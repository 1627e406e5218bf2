#include "train/run/output_files.h"

#include <system_error>

#include <fmt/format.h>

#include "core/error.h"
#include "core/host_memory.h"
#include "core/log.h"
#include "train/run/run_folder.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// The message without the names of the file and its folder, which would make every file's a new one.
std::string without_names(std::string text, const fs::path& file) {
  for (const std::string& name : {file.string(), file.parent_path().string()}) {
    for (size_t at = 0; !name.empty() && (at = text.find(name)) != std::string::npos;)
      text.erase(at, name.size());
  }
  return text;
}

std::string names(const std::set<fs::path>& files) {
  std::string text;
  for (const fs::path& file : files) text += (text.empty() ? "" : ", ") + file.string();
  return text;
}

/// What can be done with a run whose last files are missing.
std::string what_is_left(const RunFolder& run) {
  const std::string before = "Free some space or restore the folder first; ";
  if (run.saved()) {
    return before +
           "what was written before is whole, and `brightnet train --resume` continues from the last state that was "
           "written.";
  }
  if (run.lost_state())
    return before + "no state of the run was ever written to resume from: " + run.new_run() + '.';
  return before + "no state of the run was ever written: `brightnet train --resume` begins it again.";
}

}  // namespace

void OutputFiles::write(const fs::path& file, uint64_t bytes, const std::function<void()>& write) {
  if (!attempt(file, bytes, write)) due_.at(file).write = write;
}

void OutputFiles::write_newest(const fs::path& file, uint64_t bytes, const std::function<void()>& write) {
  if (!attempt(file, bytes, write)) due_.at(file).write = {};
}

void OutputFiles::retry() {
  const auto due = due_;  // attempt() changes it
  for (const auto& [file, one] : due) {
    if (one.write) attempt(file, one.bytes, one.write);
  }
}

void OutputFiles::insist() {
  for (const double seconds : {0.2, 0.4, 0.8, 1.6}) {
    if (all_written()) return;
    std::set<fs::path> missing;
    for (const auto& [file, due] : due_) missing.insert(file);
    log::info("Trying again in {} s to write {}.", seconds, names(missing));
    pause(seconds);
    retry();
  }
}

void OutputFiles::forget(const fs::path& file) {
  if (due_.erase(file) == 0) return;
  failed_.erase(file);
  report_end();
}

bool OutputFiles::attempt(const fs::path& file, uint64_t bytes, const std::function<void()>& write) {
  if (guard) guard();
  std::string reason;
  try {
    write();
  } catch (const InputError& e) {
    reason = e.what();
  } catch (const std::system_error& e) {  // of std::filesystem and of streams
    reason = file.string() + ": " + e.what() + '.';
  }
  if (reason.empty()) {
    if (due_.erase(file) > 0) report_end();
    return true;
  }
  Due& due = due_[file];
  due.bytes = bytes;
  due.reason = reason;
  failed_.insert(file);
  if (reported_.insert(without_names(reason, file)).second) report(file, due);
  return false;
}

void OutputFiles::report(const fs::path& file, const Due& due) {
  std::string space;
  const auto free = free_bytes(file);
  if (free && due.bytes > 0) {
    space = fmt::format(" It needs {}, and {} are free there.", format_bytes(due.bytes), format_bytes(*free));
  } else if (free) {
    space = fmt::format(" {} are free there.", format_bytes(*free));
  }
  log::warn(
      "{}{} Training goes on, and every save tries again to write what is missing; until then the last files "
      "that were written stay.",
      due.reason, space);
}

void OutputFiles::report_end() {
  if (!due_.empty()) return;
  if (!failed_.empty()) {
    log::info("Everything is written again: {}.", names(failed_));
  }
  reported_.clear();
  failed_.clear();
}

void OutputFiles::check(const RunFolder& run) const {
  if (due_.empty()) return;
  std::set<fs::path> missing;
  for (const auto& [file, due] : due_) missing.insert(file);
  const auto& first = *due_.begin();
  throw InputError(
      fmt::format("the run has ended, and these files could not be written: {}. The first error was: {}",
                  names(missing), first.second.reason),
      "", what_is_left(run));
}

std::optional<uint64_t> free_bytes(const fs::path& file) {
  std::error_code error;
  const fs::path folder = file.parent_path();
  const fs::space_info space = fs::space(folder.empty() ? "." : folder, error);
  if (error || space.available == static_cast<uintmax_t>(-1)) return std::nullopt;
  return space.available;
}

}  // namespace brightnet
