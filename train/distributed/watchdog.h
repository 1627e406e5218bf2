// Why a run on many ranks cannot hang. A thread of each rank looks, four times a second, for three things:
//
//   a process of this machine is gone    it was killed, perhaps because memory ran out
//   a call lasts beyond the limit        a rank did not come to it: stopped, stuck, or its machine is lost
//   a rank has announced that it leaves  it failed, has told the user why, and ends all ranks
//
// In the first two cases it reports which rank and why, and ends all ranks by MPI_Abort. To know which rank is
// missing, every rank tells rank 0 once a second how many calls it has reached, and rank 0 sends this to all; when
// rank 0 itself is missing, the others report it, after a slightly longer limit than that of rank 0.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

#include "train/distributed/mpi_header.h"

namespace brightnet {

/// Where a rank runs.
struct RankPlace {
  std::string host;
  pid_t process = 0;
};

class Watchdog {
 public:
  /// What may wait at the same time: the training thread, the thread of the buckets, and the GPU.
  enum Lane : int { calls, buckets, device, lanes };

  /// `channel` is the watchdog's alone. `end` ends all ranks and does not return.
  Watchdog(MPI_Comm channel, std::vector<RankPlace> places, std::function<void()> end);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void set_limit(double seconds) { limit_ = seconds; }
  /// This lane has come to another call, as all ranks do.
  void count(Lane lane) { waits_[lane].begun.fetch_add(1); }
  /// The same, and it waits there for other ranks in `what` (a literal) from now on.
  void begin(Lane lane, const char* what);
  void end(Lane lane);
  /// Also looks at a device, in the watchdog's thread: `look` returns what has failed, or nothing; `end`
  /// stops what the device does for other ranks before all of them are ended. Empty functions end this.
  void also_look(std::function<std::string()> look, std::function<void()> end);

  /// Tells the ranks of this machine that this one ends the run, so that they do not report its death.
  void leave();
  /// Whether another rank of this machine has.
  bool another_leaves() const { return another_leaves_; }
  /// Reports what ended the run, once however many threads notice it, and ends it.
  void fail(const std::string& message);
  /// Whether this call is the first that would end the run; only that one reports.
  bool first_to_fail() { return !failing_.exchange(true); }

  /// "rank 1 (process 123 on host gpu07)".
  std::string name(int rank) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Beat {
    /// Calls come to so far.
    uint64_t begun[lanes] = {};
    uint64_t leaving = 0;
  };
  struct Wait {
    /// nullptr: not waiting.
    std::atomic<const char*> what{nullptr};
    std::atomic<Clock::rep> since{0};
    std::atomic<uint64_t> begun{0};
  };
  struct Heard {
    Beat beat;
    Clock::time_point at = Clock::now();
  };

  void run();
  void listen();
  void tell();
  Beat own_beat() const;
  void look_for_deaths();
  void look_for_silence();
  std::string find_missing(Lane lane, double waited) const;
  /// Whether a rank of which nothing was heard for so many seconds is stopped or lost, not merely slow.
  bool is_silent(double quiet) const;
  std::string describe_missing(int rank, Lane lane, double waited) const;

  MPI_Comm channel_;
  int rank_ = 0;
  std::vector<RankPlace> places_;
  /// Ranks of this machine whose processes this one sees.
  std::vector<int> neighbours_;
  std::function<void()> end_;
  std::function<std::string()> look_;
  std::function<void()> end_device_;
  std::atomic<double> limit_;
  Wait waits_[lanes];
  std::vector<Heard> heard_;
  std::vector<Beat> outgoing_;
  Beat last_beat_;
  std::vector<MPI_Request> requests_;
  Clock::time_point told_{};
  /// When this process last went on after it was stopped.
  Clock::time_point awake_since_{};
  std::atomic<bool> failing_{false}, another_leaves_{false};

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace brightnet
