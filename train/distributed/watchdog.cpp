#include "train/distributed/watchdog.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <future>
#include <memory>

#include <unistd.h>

#include "core/log.h"
#include "core/progress.h"

namespace brightnet {
namespace {

constexpr std::chrono::milliseconds between_looks{250};
constexpr std::chrono::seconds between_beats{1};
/// Seconds between two checks from which on this process must have been stopped itself.
constexpr double own_pause = 2;
/// Seconds without a beat after which a rank is called silent.
constexpr double longest_silence = 10;
/// Time that aborting the device's collectives may take.
constexpr std::chrono::seconds longest_end_of_device{5};
constexpr int tag = 1;

/// Until the configuration is read; reading data sets may take long.
constexpr double first_limit = 600;

bool exists(pid_t process) {
  return ::kill(process, 0) == 0 || errno == EPERM;
}

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

}  // namespace

Watchdog::Watchdog(MPI_Comm channel, std::vector<RankPlace> places, std::function<void()> end)
    : channel_(channel), places_(std::move(places)), end_(std::move(end)), limit_(first_limit) {
  mpi().comm_rank(channel_, &rank_);
  heard_.resize(places_.size());
  for (int other = 0; other < static_cast<int>(places_.size()); ++other) {
    const auto index = static_cast<size_t>(other);
    if (other == rank_) continue;
    // Containers on one machine may share its host name without seeing each other's processes.
    if (places_[index].host == places_[rank_].host && exists(places_[index].process)) {
      neighbours_.push_back(other);
    }
  }
  outgoing_.resize(rank_ == 0 ? places_.size() : 1);
  requests_.assign(outgoing_.size(), mpi().request_null);
  thread_ = std::thread([this] { run(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  for (auto& request : requests_) {
    if (request != mpi().request_null) mpi().request_free(&request);
  }
}

void Watchdog::begin(Lane lane, const char* what) {
  Wait& wait = waits_[lane];
  count(lane);
  wait.since = Clock::now().time_since_epoch().count();
  wait.what = what;
}

void Watchdog::end(Lane lane) {
  waits_[lane].what = nullptr;
}

void Watchdog::also_look(std::function<std::string()> look, std::function<void()> end) {
  const std::lock_guard lock(mutex_);
  look_ = std::move(look);
  end_device_ = std::move(end);
}

void Watchdog::run() {
  std::unique_lock lock(mutex_);
  Clock::time_point looked = Clock::now();
  while (!wake_.wait_for(lock, between_looks, [this] { return stopping_; })) {
    // Time in which this process was stopped itself does not count as waiting for others.
    if (seconds_since(looked) > own_pause) awake_since_ = Clock::now();
    looked = Clock::now();
    listen();
    if (const uint64_t now = progress(); now != progress_) {
      progress_ = now;
      progressed_ = Clock::now();
    }
    tell();
    look_for_deaths();
    look_for_silence();
    if (!look_) continue;
    const std::string problem = look_();
    if (!problem.empty()) fail(name(rank_) + ": " + problem);
  }
}

Watchdog::Beat Watchdog::own_beat() const {
  Beat beat;
  for (int lane = 0; lane < lanes; ++lane) beat.begun[lane] = waits_[lane].begun;
  beat.progress = rank_ == 0 ? progress() : progress_count();
  return beat;
}

uint64_t Watchdog::progress() const {
  uint64_t all = progress_count();
  for (const Heard& heard : heard_) all += heard.beat.progress;
  return all;
}

void Watchdog::listen() {
  for (;;) {
    int there = 0;
    MPI_Status status;
    mpi().iprobe(MPI_ANY_SOURCE, tag, channel_, &there, &status);
    if (!there) return;
    Heard& heard = heard_[status.MPI_SOURCE];
    Beat beat;
    mpi().recv(&beat, sizeof beat, mpi().byte_type, status.MPI_SOURCE, tag, channel_, MPI_STATUS_IGNORE);
    beat.leaving = std::max(beat.leaving, heard.beat.leaving);
    if (beat.leaving) another_leaves_ = true;
    heard = {beat, Clock::now()};
  }
}

void Watchdog::tell() {
  if (Clock::now() - told_ < between_beats) return;
  told_ = Clock::now();
  for (size_t i = 0; i < requests_.size(); ++i) {
    const int to = rank_ == 0 ? static_cast<int>(i) : 0;
    if (to == rank_) continue;
    int sent = 1;
    if (requests_[i] != mpi().request_null) mpi().test(&requests_[i], &sent, MPI_STATUS_IGNORE);
    if (!sent) continue;  // the last beat has not been received yet
    outgoing_[i] = own_beat();
    mpi().isend(&outgoing_[i], sizeof(Beat), mpi().byte_type, to, tag, channel_, &requests_[i]);
  }
}

void Watchdog::leave() {
  last_beat_ = own_beat();
  last_beat_.leaving = 1;
  for (const int neighbour : neighbours_) {
    // Small enough to be sent eagerly. Not waited for: the neighbour may be stuck.
    MPI_Request request;
    mpi().isend(&last_beat_, sizeof last_beat_, mpi().byte_type, neighbour, tag, channel_, &request);
    mpi().request_free(&request);
  }
}

void Watchdog::look_for_deaths() {
  int first_living = rank_;
  std::vector<int> dead;
  for (const int neighbour : neighbours_) {
    const auto index = static_cast<size_t>(neighbour);
    if (exists(places_[index].process)) {
      first_living = std::min(first_living, neighbour);
    } else if (!heard_[index].beat.leaving) {
      dead.push_back(neighbour);
    }
  }
  // Only the survivor with the lowest rank reports it.
  if (dead.empty() || first_living != rank_) return;
  fail(name(dead[0]) +
       " has died: it was killed, perhaps because memory ran out (see `dmesg`). All ranks stop; --resume "
       "continues from the last saved state, or begins the run again if it has none");
}

void Watchdog::look_for_silence() {
  for (int lane = 0; lane < lanes; ++lane) {
    const Wait& wait = waits_[lane];
    const char* const what = wait.what;
    if (!what) continue;
    const Clock::time_point since{Clock::duration(wait.since.load())};
    const double waited = seconds_since(std::max({since, awake_since_, progressed_})), limit = limit_;
    // Rank 0 hears all ranks; the others report only when rank 0 itself does not.
    const double patience = limit + (rank_ == 0 ? 0 : 2 + std::min(rank_, 8));
    // The call may end while this is written.
    if (waited > patience && wait.what) fail(find_missing(static_cast<Lane>(lane), what, waited));
  }
}

bool Watchdog::is_silent(double quiet) const {
  return quiet > std::min(longest_silence, limit_ / 2);
}

std::string Watchdog::describe_missing(int rank, const char* what, double waited) const {
  const Heard& heard = heard_[rank];
  const double quiet = seconds_since(heard.at);
  std::string text = name(rank) + " has not reached " + what + ", where the others wait, for " +
                     std::to_string(static_cast<int>(waited)) + " s. ";
  if (is_silent(quiet)) {
    text += "It has been silent for " + std::to_string(static_cast<int>(quiet)) +
            " s: it is stopped, or its machine or the network is lost";
  } else {
    text +=
        "Its process is alive, but something in it takes too long (a file that cannot be read, a device that "
        "hangs)";
  }
  return text;
}

std::string Watchdog::find_missing(Lane lane, const char* what, double waited) const {
  const uint64_t mine = waits_[lane].begun;
  std::string missing;
  const int known = rank_ == 0 ? static_cast<int>(heard_.size()) : 1;
  for (int other = 0; other < known && missing.empty(); ++other) {
    const Heard& heard = heard_[other];
    const bool late = heard.beat.begun[lane] < mine || is_silent(seconds_since(heard.at));
    if (other != rank_ && late) missing = describe_missing(other, what, waited);
  }
  if (missing.empty()) {
    missing = name(rank_) + " has waited " + std::to_string(static_cast<int>(waited)) + " s in " + what +
              ", but no rank is late: messages between the ranks are being lost";
  }
  return missing +
         ". All ranks stop; --resume continues from the last saved state, or begins the run again if it has "
         "none. If it was only slow, increase train.comm_timeout";
}

void Watchdog::fail(const std::string& message) {
  if (!first_to_fail()) {
    // The first thread ends this process.
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  log::error("{}.", message);
  if (end_device_) end_device_within(longest_end_of_device);
  end_();
}

// NCCL's abort waits for captured graphs that still refer to its communicator, and nobody drops these any more: what ends
// the device gets a thread of its own, and the process ends whatever becomes of it.
void Watchdog::end_device_within(std::chrono::seconds limit) {
  const auto done = std::make_shared<std::promise<void>>();
  std::future<void> ended = done->get_future();
  std::thread([end = end_device_, done] {
    end();
    done->set_value();
  }).detach();
  if (ended.wait_for(limit) != std::future_status::ready)
    log::error("The device's sums did not end within {} s; the process ends without them.", limit.count());
}

std::string Watchdog::name(int rank) const {
  const RankPlace& place = places_[rank];
  return "rank " + std::to_string(rank) + " (process " + std::to_string(place.process) + " on host " +
         place.host + ')';
}

}  // namespace brightnet
