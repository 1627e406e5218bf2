#include "cli/supervised_run.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>

#include "brightnet/error.h"
#include "cli/commands.h"
#include "cli/rank_launch.h"
#include "cli/restarts.h"
#include "cli/stop_signals.h"
#include "core/child_process.h"
#include "core/files.h"
#include "core/log.h"

namespace brightnet::cli {
namespace {

namespace fs = std::filesystem;

/// Where the processes of one start say how far they are. The file stays open: whatever cleans the folder of temporary
/// files takes it away from a run of many days, and with it the run's folder would be forgotten.
class ProgressFile {
 public:
  ProgressFile() : path_(folder_ / "progress") {
    append_to_file(path_, "");
    file_.open(path_, std::ios::binary);
  }
  const fs::path& path() const { return path_; }
  /// Reads the lines: the first is the folder, and there is a second once a step was made.
  ProcessesEnd read() {
    ProcessesEnd end;
    std::getline(file_, end.folder);
    std::string word;
    end.made_steps = static_cast<bool>(std::getline(file_, word));
    return end;
  }

 private:
  ScratchFolder folder_;
  fs::path path_;
  std::ifstream file_;
};

/// The GPUs as a process of its own sees them: how many there are, and which of them work.
struct Gpus {
  int count = 0;
  std::vector<int> working;
};

Gpus examine_gpus(const std::stop_token& stop) {
  const ScratchFolder scratch;
  const fs::path output = scratch / "gpus";
  sigset_t none;
  sigemptyset(&none);
  const pid_t child = start_process({this_program(), "doctor", "--gpus"}, "doctor", none, output);
  // It takes seconds, unless a GPU hangs.
  constexpr auto longest = std::chrono::minutes(3);
  const std::optional<int> code = wait_for_process(child, longest, stop);
  if (!code && !stop.stop_requested()) {
    log::warn(
        "The GPUs gave no answer within {} minutes (`brightnet doctor` tries each): the run begins on all of them.",
        longest.count());
  }
  Gpus gpus;
  if (code != 0) return gpus;
  std::istringstream words(read_file(output));
  words >> gpus.count;
  for (int index; words >> index;) gpus.working.push_back(index);
  return gpus;
}

/// The largest number of ranks, at most `most`, that the run's batch can be divided among.
int ranks_that_divide(const TrainingOptions& options, int most) {
  for (int ranks = most; ranks > 1; --ranks) {
    try {
      check_training(options, ranks);
      return ranks;
    } catch (const InputError&) {
    }
  }
  return 1;
}

bool wait_unless_stopped(const StopSignals& signals, int seconds) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  return !stopped.wait_for(lock, signals.token(), std::chrono::seconds(seconds), [] { return false; }) &&
         !signals.received();
}

}  // namespace

void ProgressReport::began(const fs::path& folder) {
  append_to_file(file_, fs::absolute(folder).string() + '\n');
}

void ProgressReport::step(const StepReport&) {
  if (stepped_) return;
  stepped_ = true;
  append_to_file(file_, "step\n");
}

int run_supervised(const TrainingOptions& options, int ranks, int restarts) {
  TrainingOptions resumed = options;
  // From the end of the processes until the next ones, which have the signals passed on.
  std::optional<StopSignals> signals;

  const auto start = [&](int count, const std::string& folder) {
    signals.reset();
    std::vector<std::string> words = arguments_of_rank();
    // A new run has its settings in its folder; what else one was resumed with is in the words alone.
    if (!folder.empty() && !options.resume) {
      words = {"train", "--resume", folder, "--device", options.device};
      resumed = {.resume = true, .folder = folder};
    } else if (!folder.empty() && options.folder.empty() && options.out.empty()) {
      // `--resume` alone takes the run that was saved last, which may be another by now.
      const auto at = std::find(words.begin(), words.end(), "--resume");
      if (at != words.end()) words.insert(at + 1, folder);
    }
    ProgressFile progress;
    // Behind "train", as the user's words may end in `-- CONFIG`.
    words.insert(words.begin() + 1, {"--supervised", progress.path().string()});
    const RanksEnd ranks_end = run_ranks(count, this_program(), words);
    ProcessesEnd end = progress.read();
    end.code = ranks_end.code;
    end.asked = ranks_end.asked;
    return end;
  };

  const auto ranks_that_work = [&](int before) -> std::optional<int> {
    signals.emplace();
    if (options.device == "cpu") return before;
    const Gpus gpus = examine_gpus(signals->token());
    if (signals->received()) return std::nullopt;
    if (gpus.count == 0) return before;  // on the CPU, or the driver is gone, which the run itself will say
    const GpusLeft left = gpus_left(options.device, gpus.count, gpus.working);
    if (!left.visible.empty()) {
      const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
      ::setenv("CUDA_VISIBLE_DEVICES", visible_devices(visible ? visible : "", left.visible).c_str(), 1);
    }
    return left.most_ranks >= before || left.most_ranks == 0 ? std::min(left.most_ranks, before)
                                                             : ranks_that_divide(resumed, left.most_ranks);
  };

  return supervise(restarts, ranks,
                   {.start = start, .ranks_that_work = ranks_that_work, .wait = [&](int seconds) {
                      return wait_unless_stopped(*signals, seconds);
                    }});
}

}  // namespace brightnet::cli
