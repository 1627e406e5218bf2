#include "cli/restarts.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "core/error.h"
#include "core/log.h"
#include "core/printable.h"

namespace brightnet::cli {
namespace {

constexpr int first_wait = 2, longest_wait = 300;  // seconds

std::string how_it_ended(int code) {
  return code > 128 ? fmt::format("was ended by signal {}", code - 128)
                    : fmt::format("failed with exit code {}", code);
}

/// Whether another start may go better. A device that could not be used before the first step is the user's choice; later
/// it has failed.
bool may_recover(const ProcessesEnd& end, bool stepped_before) {
  if (end.asked) return false;
  switch (static_cast<ExitCode>(end.code)) {
    case ExitCode::done:
    case ExitCode::input:
    case ExitCode::interrupted: return false;
    case ExitCode::device: return stepped_before;
    case ExitCode::internal: return true;
  }
  return true;  // a signal
}

int stopped_between(const std::string& folder, int ranks) {
  log::info("Stopped by a signal before the restart.{}",
            folder.empty() ? "" : " Resume with: " + resume_command(folder, ranks));
  return static_cast<int>(ExitCode::interrupted);
}

}  // namespace

std::string resume_command(const std::string& folder, int ranks) {
  return "brightnet train --resume " + shell_path(folder) +
         (ranks > 1 ? " --ranks " + std::to_string(ranks) : "");
}

int supervise(int restarts, int ranks, const SupervisedRun& run) {
  std::string folder;
  bool stepped = false;
  int seconds = first_wait;
  for (int restart = 1;; ++restart, seconds = std::min(2 * seconds, longest_wait)) {
    const ProcessesEnd end = run.start(ranks, folder);
    if (!end.folder.empty()) folder = end.folder;
    stepped = stepped || end.made_steps;
    if (!may_recover(end, stepped)) return end.code;
    if (restart > restarts) {
      log::error("the run {}, and its {} used up", how_it_ended(end.code),
                 restarts == 1 ? "1 restart is" : fmt::format("{} restarts are", restarts));
      return end.code;
    }
    if (restart > 1 && !end.made_steps) {
      log::error("the run {} and made no step since its restart: another one would fail as well",
                 how_it_ended(end.code));
      return end.code;
    }
    const std::optional<int> working = run.ranks_that_work(ranks);
    if (!working) return stopped_between(folder, ranks);
    if (*working == 0) {
      log::error("the run {}, and no device works any more", how_it_ended(end.code));
      return end.code;
    }
    log::warn("The run {}. In {} s it {}{} (restart {} of {})", how_it_ended(end.code), seconds,
              folder.empty() ? "begins again" : "is resumed from its last saved state",
              *working < ranks ? fmt::format(", on {} ranks instead of {}", *working, ranks) : "", restart,
              restarts);
    ranks = *working;
    if (!run.wait(seconds)) return stopped_between(folder, ranks);
  }
}

GpusLeft gpus_left(const std::string& device, int count, const std::vector<int>& working) {
  constexpr std::string_view numbered = "cuda:";
  if (device.starts_with(numbered)) {
    int named = -1;
    std::from_chars(device.data() + numbered.size(), device.data() + device.size(), named);
    const bool works = std::find(working.begin(), working.end(), named) != working.end();
    return {.most_ranks = works ? std::numeric_limits<int>::max() : 0};
  }
  const auto left = static_cast<int>(working.size());
  return {.most_ranks = left, .visible = left < count ? working : std::vector<int>()};
}

std::string visible_devices(const std::string& visible, const std::vector<int>& working) {
  std::vector<std::string> names;
  std::istringstream list(visible);
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  std::string some;
  for (const int index : working) {
    const auto i = static_cast<size_t>(index);
    some += (some.empty() ? "" : ",") + (i < names.size() ? names[i] : std::to_string(index));
  }
  return some;
}

}  // namespace brightnet::cli
