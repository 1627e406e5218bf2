#include "train/distributed/mpi.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <thread>

#include <unistd.h>

#include "core/error.h"
#include "core/log.h"
#include "core/threads.h"
#include "train/distributed/agreement.h"
#include "train/distributed/core_sharing.h"
#include "train/distributed/launched_rank.h"
#include "train/distributed/solo.h"

namespace brightnet {
namespace {

/// Seconds that the ranks may take to connect, and to shut down.
constexpr std::chrono::seconds meeting{300}, parting{60};

constexpr std::string_view not_met =
    "This rank has not reached the others through MPI: one of them did not start, or the network between "
    "them is closed. `mpirun --mca btl_base_verbose 30 ...` shows what MPI tries.\n";

/// Ends this rank when an MPI call, which nothing can interrupt, takes longer while no watchdog runs.
class Deadline {
 public:
  Deadline(std::chrono::seconds limit, std::string_view message)
      : thread_([limit, message](const std::stop_token& met) {
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any().wait_for(lock, met, limit, [] { return false; });
          if (met.stop_requested()) return;
          [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, message.data(), message.size());
          ::_exit(static_cast<int>(ExitCode::internal));
        }) {}

 private:
  std::jthread thread_;
};

/// Divides cores among the ranks that may all use them, and would each use all of them.
void share_cores(const Communicator& ranks) {
  const int sharing = ranks.sharing_cores();
  if (sharing == 1 || std::getenv("OMP_NUM_THREADS")) return;
  omp_set_num_threads(std::max(1, usable_processors() / sharing));
}

}  // namespace

int mpi_count(size_t count) {
  BRIGHTNET_CHECK(count <= INT_MAX, "MPI counts in int");
  return static_cast<int>(count);
}

MpiCommunicator::MpiCommunicator() {
  const Deadline deadline(meeting, not_met);
  // A rank that waits inside MPI yields its core to ranks that compute. Does not override the user's setting.
  ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  int provided = MPI_THREAD_SINGLE;
  mpi().init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  mpi().comm_rank(mpi().world, &rank_);
  mpi().comm_size(mpi().world, &size_);
  if (provided < MPI_THREAD_MULTIPLE) {
    mpi().finalize();
    throw DeviceError("this MPI does not let several threads call it (MPI_THREAD_MULTIPLE)", "",
                      "Use an Open MPI built with threads, as Debian's and Ubuntu's openmpi-bin is.");
  }
  for (MPI_Comm* communicator : {&calls_, &buckets_, &watch_}) {
    mpi().comm_dup(mpi().world, communicator);
    mpi().comm_set_errhandler(*communicator, mpi().errors_return);
  }
  std::vector<RankPlace> places = meet();
  sharing_cores_ = ranks_sharing_cores(all_gather(own_processors()), rank_);
  watchdog_ = std::make_unique<Watchdog>(watch_, std::move(places),
                                         [this] { end(static_cast<int>(ExitCode::internal)); });
  collectives_ = std::make_unique<MpiCollectives>(*this, buckets_);
}

MpiCommunicator::~MpiCommunicator() {
  collectives_.reset();
  barrier();
  watchdog_.reset();
  // Without the watchdog, this ends the rank if another one dies now.
  const Deadline deadline(parting, "");
  for (MPI_Comm* communicator : {&calls_, &buckets_, &watch_}) mpi().comm_free(communicator);
  mpi().finalize();
}

std::vector<RankPlace> MpiCommunicator::meet() {
  const std::string host = host_name();
  std::vector<RankPlace> places;
  const std::string own = std::to_string(::getpid()) + ' ' + host;
  for (const std::string& text : all_gather(own)) {
    const size_t space = text.find(' ');
    places.push_back({text.substr(space + 1), static_cast<pid_t>(std::stol(text.substr(0, space)))});
  }
  local_size_ = 0;
  for (int other = 0; other < size_; ++other) {
    if (places[other].host != host) continue;
    ++local_size_;
    if (other < rank_) ++local_rank_;
  }
  return places;
}

void MpiCommunicator::wait_in(Watchdog::Lane lane, const char* what, const std::function<int()>& call) {
  if (watchdog_) watchdog_->begin(lane, what);
  const int status = call();
  if (status == MPI_SUCCESS) {
    if (watchdog_) watchdog_->end(lane);
    return;
  }
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  mpi().error_string(status, text, &length);
  if (!watchdog_) throw Error(ExitCode::internal, std::string("MPI failed in ") + what + ": " + text, "", "");
  watchdog_->fail(watchdog_->name(rank_) + " failed in " + what + ": " + text);
}

void MpiCommunicator::all_reduce(std::span<double> values) {
  wait_in(Watchdog::calls, "a sum over ranks", [&] {
    return mpi().allreduce(MPI_IN_PLACE, values.data(), mpi_count(values.size()), mpi().double_type,
                           mpi().sum, calls_);
  });
}

void MpiCommunicator::broadcast(std::span<std::byte> bytes) {
  wait_in(Watchdog::calls, "a broadcast",
          [&] { return mpi().bcast(bytes.data(), mpi_count(bytes.size()), mpi().byte_type, 0, calls_); });
}

std::vector<std::string> MpiCommunicator::all_gather(std::string_view bytes) {
  const int own = mpi_count(bytes.size());
  std::vector<int> counts(static_cast<size_t>(size_)), offsets(static_cast<size_t>(size_));
  std::string all;
  wait_in(Watchdog::calls, "a gathering over all ranks", [&] {
    const int status = mpi().allgather(&own, 1, mpi().int_type, counts.data(), 1, mpi().int_type, calls_);
    if (status != MPI_SUCCESS) return status;
    size_t total = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      offsets[i] = mpi_count(total);
      total += static_cast<size_t>(counts[i]);
    }
    all.resize(total);
    return mpi().allgatherv(bytes.data(), own, mpi().byte_type, all.data(), counts.data(), offsets.data(),
                            mpi().byte_type, calls_);
  });
  std::vector<std::string> each;
  for (size_t i = 0; i < counts.size(); ++i) {
    each.push_back(all.substr(static_cast<size_t>(offsets[i]), static_cast<size_t>(counts[i])));
  }
  return each;
}

void MpiCommunicator::barrier() {
  wait_in(Watchdog::calls, "a barrier", [&] { return mpi().barrier(calls_); });
}

// The same failure hits several ranks at about the same time: the others leave the report to rank 0.
void MpiCommunicator::fail(const std::string& message, int exit_code) {
  if (rank_ != 0) std::this_thread::sleep_for(std::chrono::milliseconds(600));
  if (watchdog_->another_leaves() || !watchdog_->first_to_fail()) {
    std::this_thread::sleep_for(parting);
    ::_exit(exit_code);
  }
  log::error("{}: {}", watchdog_->name(rank_), message);
  end(exit_code);
}

void MpiCommunicator::end(int exit_code) {
  watchdog_->leave();
  mpi().abort(mpi().world, exit_code);
  ::_exit(exit_code);
}

std::unique_ptr<Communicator> open_communicator() {
  const LaunchedRank launched = launched_rank();
  if (!launched.is_rank) return std::make_unique<SoloCommunicator>();
  auto communicator = std::make_unique<MpiCommunicator>();
  if (launched.size > 1 && communicator->size() != launched.size) {
    throw DeviceError(std::to_string(launched.size) + " ranks were started and Open MPI sees " +
                          std::to_string(communicator->size()) + " of them",
                      "", "With srun, say --mpi=pmix, or start them by the mpirun of Open MPI.");
  }
  share_cores(*communicator);
  return communicator;
}

}  // namespace brightnet
