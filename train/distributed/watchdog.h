// Keeps a run on many ranks from hanging. A thread of each rank checks, four times a second, whether
//
//   a process on this machine is gone         it was killed, perhaps because memory ran out
//   a call exceeds the time limit             a rank did not reach it: stopped, stuck, or its machine is lost
//   a rank has announced that it is leaving   it failed, has reported why, and aborts all ranks
//
// In the first two cases it reports which rank and why, and ends all ranks by MPI_Abort. To identify the
// missing rank, every rank sends rank 0 once a second how many calls it has reached. Rank 0 sends its own
// count to all, so that they can report rank 0 itself, after a slightly longer limit.
//
// A rank may have work that the others do not: engines of cuDNN that it times, which others remember from an
// earlier run. While any rank makes such progress (core/progress.h), the time limit of all begins anew.
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

#include "train/distributed/mpi_library.h"

namespace brightnet {

/// The host and process of a rank.
struct RankPlace {
  std::string host;
  pid_t process = 0;
};

class Watchdog {
 public:
  /// The parts of a rank that can wait concurrently: the training thread, the bucket thread, and the GPU.
  enum Lane : int { calls, buckets, device, lanes };

  /// Only the watchdog uses `channel`. `end` aborts all ranks and does not return.
  Watchdog(MPI_Comm channel, std::vector<RankPlace> places, std::function<void()> end);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void set_limit(double seconds) { limit_ = seconds; }
  /// Counts a call that this lane has reached, as all ranks do.
  void count(Lane lane) { waits_[lane].begun.fetch_add(1); }
  /// Counts such a call, and starts waiting for other ranks in `what` (a string literal).
  void begin(Lane lane, const char* what);
  void end(Lane lane);
  /// Also monitors a device, in the watchdog's thread: `look` returns an error message or ""; `end` aborts
  /// the device's collectives before all ranks are aborted, which does not wait for it for long. Empty functions stop this.
  void also_look(std::function<std::string()> look, std::function<void()> end);

  /// Announces to the ranks of this machine that this one aborts the run, lest they report its death.
  void leave();
  /// Whether another rank of this machine has announced that it aborts the run.
  bool another_leaves() const { return another_leaves_; }
  /// Reports the failure and aborts the run; only the first call does.
  void fail(const std::string& message);
  /// True for the first caller only, which then reports and aborts.
  bool first_to_fail() { return !failing_.exchange(true); }

  /// "rank 1 (process 123 on host gpu07)".
  std::string name(int rank) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Beat {
    /// Calls reached so far.
    uint64_t begun[lanes] = {};
    uint64_t leaving = 0;
    /// Progress of this rank alone; from rank 0, of all ranks.
    uint64_t progress = 0;
  };
  struct Wait {
    /// The call that waits; nullptr: none.
    std::atomic<const char*> what{nullptr};
    std::atomic<Clock::rep> since{0};
    std::atomic<uint64_t> begun{0};
  };
  struct Heard {
    Beat beat;
    Clock::time_point at = Clock::now();
  };

  void end_device_within(std::chrono::seconds limit);
  void run();
  void listen();
  void tell();
  Beat own_beat() const;
  void look_for_deaths();
  void look_for_silence();
  /// The sum of the progress of the ranks that are heard, and of this one.
  uint64_t progress() const;
  std::string find_missing(Lane lane, const char* what, double waited) const;
  /// Whether a rank without a beat for `quiet` seconds is stopped or lost, not merely slow.
  bool is_silent(double quiet) const;
  std::string describe_missing(int rank, const char* what, double waited) const;

  MPI_Comm channel_;
  int rank_ = 0;
  std::vector<RankPlace> places_;
  /// Ranks of this machine whose processes are visible to this one.
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
  /// The time when this process last continued after it was stopped (SIGSTOP).
  Clock::time_point awake_since_{};
  /// The last progress seen, and when.
  uint64_t progress_ = 0;
  Clock::time_point progressed_{};
  std::atomic<bool> failing_{false}, another_leaves_{false};

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace brightnet
