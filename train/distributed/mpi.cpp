#include "train/distributed/mpi.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>

#include <sched.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "core/threads.h"
#include "train/distributed/launch.h"
#include "train/distributed/solo.h"

namespace brightnet {
namespace {

/// Seconds that meeting, and leaving together, may take.
constexpr unsigned meeting = 300, farewell = 60;

int as_int(size_t count) {
  BRIGHTNET_CHECK(count <= INT_MAX, "MPI counts in int");
  return static_cast<int>(count);
}

// Until the watchdog stands, nobody else would notice a rank that cannot connect. Only what a signal handler
// may do.
extern "C" void give_up_meeting(int) {
  constexpr char text[] =
      "This rank has not reached the others through MPI: one of them did not start, or the network between "
      "them is "
      "closed. `mpirun --mca btl_base_verbose 30 ...` shows what MPI tries.\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, sizeof text - 1);
  ::_exit(static_cast<int>(ExitCode::internal));
}

/// Limits the time that MPI may take for something in which nobody watches.
class Alarm {
 public:
  Alarm(unsigned seconds, void (*handler)(int)) {
    std::signal(SIGALRM, handler);
    ::alarm(seconds);
  }
  ~Alarm() {
    ::alarm(0);
    std::signal(SIGALRM, SIG_DFL);
  }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
};

/// Ranks that are not bound to cores of their own would each compute with all of them.
void share_cores(int local_size) {
  if (std::getenv("OMP_NUM_THREADS")) return;
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return;
  const long machine = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (CPU_COUNT(&set) < machine) return;
  omp_set_num_threads(std::max(1, static_cast<int>(machine) / local_size));
}

}  // namespace

MpiCommunicator::MpiCommunicator() {
  const Alarm alarm(meeting, give_up_meeting);
  // Who waits inside MPI lets those who compute have the core. A setting of the user's own stays.
  ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  if (provided < MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    throw DeviceError("this MPI does not let several threads call it (MPI_THREAD_MULTIPLE)", "",
                      "Use an Open MPI built with threads, as Debian's and Ubuntu's openmpi-bin is.");
  }
  for (MPI_Comm* communicator : {&calls_, &buckets_, &watch_}) {
    MPI_Comm_dup(MPI_COMM_WORLD, communicator);
    MPI_Comm_set_errhandler(*communicator, MPI_ERRORS_RETURN);
  }
  std::vector<RankPlace> places = meet();
  watchdog_ = std::make_unique<Watchdog>(watch_, std::move(places),
                                         [this] { end(static_cast<int>(ExitCode::internal)); });
  thread_ = std::thread([this] { reduce_buckets(); });
}

MpiCommunicator::~MpiCommunicator() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  started_.notify_all();
  thread_.join();
  barrier();
  watchdog_.reset();
  // Nobody watches from here on: should a rank die now, the alarm ends this one.
  const Alarm alarm(farewell, SIG_DFL);
  for (MPI_Comm* communicator : {&calls_, &buckets_, &watch_}) MPI_Comm_free(communicator);
  MPI_Finalize();
}

std::vector<RankPlace> MpiCommunicator::meet() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  std::vector<RankPlace> places;
  const std::string own = std::to_string(::getpid()) + ' ' + host;
  for (const std::string& text : all_gather(own)) {
    const size_t space = text.find(' ');
    places.push_back({text.substr(space + 1), static_cast<pid_t>(std::stol(text.substr(0, space)))});
  }
  local_size_ = 0;
  for (int other = 0; other < size_; ++other) {
    if (places[static_cast<size_t>(other)].host != host) continue;
    ++local_size_;
    if (other < rank_) ++local_rank_;
  }
  return places;
}

void MpiCommunicator::check(int status, const char* what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(status, text, &length);
  if (!watchdog_) throw Error(ExitCode::internal, std::string("MPI failed in ") + what + ": " + text, "", "");
  watchdog_->fail(watchdog_->name(rank_) + " failed in " + what + ": " + text);
}

template <typename Call>
void MpiCommunicator::wait_in(const char* what, Call&& call) {
  const double begin = seconds_now();
  if (watchdog_) watchdog_->begin(Watchdog::calls, what);
  check(call(), what);
  if (watchdog_) watchdog_->end(Watchdog::calls);
  waited_ += seconds_now() - begin;
}

void MpiCommunicator::all_reduce(std::span<double> values) {
  wait_in("a sum over ranks", [&] {
    return MPI_Allreduce(MPI_IN_PLACE, values.data(), as_int(values.size()), MPI_DOUBLE, MPI_SUM, calls_);
  });
}

void MpiCommunicator::broadcast(std::span<std::byte> bytes, int root) {
  wait_in("a broadcast",
          [&] { return MPI_Bcast(bytes.data(), as_int(bytes.size()), MPI_BYTE, root, calls_); });
}

std::vector<std::string> MpiCommunicator::all_gather(std::string_view bytes) {
  const int own = as_int(bytes.size());
  std::vector<int> counts(static_cast<size_t>(size_)), offsets(static_cast<size_t>(size_));
  std::string all;
  wait_in("a gathering of all ranks' words", [&] {
    const int status = MPI_Allgather(&own, 1, MPI_INT, counts.data(), 1, MPI_INT, calls_);
    if (status != MPI_SUCCESS) return status;
    size_t total = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      offsets[i] = as_int(total);
      total += static_cast<size_t>(counts[i]);
    }
    all.resize(total);
    return MPI_Allgatherv(bytes.data(), own, MPI_BYTE, all.data(), counts.data(), offsets.data(), MPI_BYTE,
                          calls_);
  });
  std::vector<std::string> each;
  for (size_t i = 0; i < counts.size(); ++i) {
    each.push_back(all.substr(static_cast<size_t>(offsets[i]), static_cast<size_t>(counts[i])));
  }
  return each;
}

void MpiCommunicator::barrier() {
  wait_in("a barrier", [&] { return MPI_Barrier(calls_); });
}

void MpiCommunicator::start_all_reduce(float* values, size_t count, Reduction reduction) {
  {
    const std::lock_guard lock(mutex_);
    open_.push_back({values, count, reduction});
  }
  started_.notify_one();
}

void MpiCommunicator::finish_all_reduces() {
  const double begin = seconds_now();
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return open_.empty(); });
  waited_ += seconds_now() - begin;
}

void MpiCommunicator::reduce_buckets() {
  std::unique_lock lock(mutex_);
  for (;;) {
    started_.wait(lock, [this] { return stopping_ || !open_.empty(); });
    if (open_.empty()) return;
    const Bucket bucket = open_.front();
    lock.unlock();
    reduce(bucket);
    lock.lock();
    open_.pop_front();
    if (open_.empty()) finished_.notify_all();
  }
}

void MpiCommunicator::reduce(const Bucket& bucket) {
  constexpr const char* what = "the sum of a bucket of gradients";
  watchdog_->begin(Watchdog::buckets, what);
  check(MPI_Allreduce(MPI_IN_PLACE, bucket.values, as_int(bucket.count), MPI_FLOAT, MPI_SUM, buckets_), what);
  watchdog_->end(Watchdog::buckets);
  if (bucket.reduction == Reduction::mean) {
    const float share = 1.0f / static_cast<float>(size_);
    for (size_t i = 0; i < bucket.count; ++i) bucket.values[i] *= share;
  }
}

// Ranks that come upon the same trouble do so at about the same time: the others wait for rank 0's word.
void MpiCommunicator::fail(const std::string& message, int exit_code) {
  if (rank_ != 0) std::this_thread::sleep_for(std::chrono::milliseconds(600));
  if (watchdog_->somebody_leaves() || !watchdog_->first_to_fail()) {
    std::this_thread::sleep_for(std::chrono::seconds(farewell));
    ::_exit(exit_code);
  }
  spdlog::error("{}: {}", watchdog_->name(rank_), message);
  end(exit_code);
}

void MpiCommunicator::end(int exit_code) {
  watchdog_->leave();
  spdlog::default_logger()->flush();
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  ::_exit(exit_code);
}

std::unique_ptr<Communicator> open_communicator() {
  const LaunchedRank launched = launched_rank();
  if (!launched.is_rank) return std::make_unique<SoloCommunicator>();
  auto communicator = std::make_unique<MpiCommunicator>();
  if (launched.size > 1 && communicator->size() != launched.size) {
    throw DeviceError(std::to_string(launched.size) + " ranks were started and MPI sees " +
                          std::to_string(communicator->size()) + " of them",
                      "", "With srun, say --mpi=pmix, or start them by mpirun.");
  }
  share_cores(communicator->local_size());
  return communicator;
}

}  // namespace brightnet
