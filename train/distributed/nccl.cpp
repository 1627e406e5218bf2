#include "train/distributed/nccl.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include <nccl.h>

#include "core/error.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/runtime.h"
#include "train/distributed/agreement.h"
#include "train/distributed/watchdog.h"

namespace brightnet {
namespace {

/// About as many as the statistics of a layer have, and a bucket of gradients.
constexpr size_t few_floats = 1 << 10, many_floats = 1 << 22;

/// NCCL's functions, from the library that is loaded when the first of these collectives are made.
struct Nccl {
  decltype(&ncclGetUniqueId) get_unique_id;
  decltype(&ncclCommInitRank) init;
  decltype(&ncclCommDestroy) destroy;
  decltype(&ncclCommAbort) abort;
  decltype(&ncclCommGetAsyncError) async_error;
  decltype(&ncclAllReduce) all_reduce;
  decltype(&ncclGetErrorString) error_string;

  static const Nccl& library() {
    static const Nccl nccl;
    return nccl;
  }

 private:
  Nccl() {
    find(get_unique_id, "ncclGetUniqueId");
    find(init, "ncclCommInitRank");
    find(destroy, "ncclCommDestroy");
    find(abort, "ncclCommAbort");
    find(async_error, "ncclCommGetAsyncError");
    find(all_reduce, "ncclAllReduce");
    find(error_string, "ncclGetErrorString");
  }

  template <typename Function>
  static void find(Function*& function, const char* name) {
    const SharedLibrary& library = cuda::nccl_library();
    function = library.function<Function>(name);
    if (function) return;
    throw DeviceError("NCCL, which several GPUs need, cannot be used: " +
                          (library.loaded() ? library.path() + " has no " + name : library.problem()),
                      library.name(), "Install NCCL 2 (libnccl2), or train on one GPU");
  }
};

void check(ncclResult_t status, const std::string& action) {
  if (status == ncclSuccess) return;
  throw DeviceError("NCCL could not " + action + ": " + Nccl::library().error_string(status), "",
                    "NCCL_DEBUG=INFO makes it say more");
}

/// Measures how long the backend's stream waits for sums. Waits captured into a graph are not measured.
class WaitTimes {
 public:
  /// `hold` queues the wait into the stream.
  template <typename Hold>
  void measure(cudaStream_t stream, Hold&& hold) {
    if (cuda::is_capturing(stream)) return hold();
    if (free_.empty()) free_.push_back(std::make_unique<Wait>());
    std::unique_ptr<Wait> wait = std::move(free_.back());
    free_.pop_back();
    wait->begin.record(stream);
    hold();
    wait->end.record(stream);
    open_.push_back(std::move(wait));
  }

  /// Total of the waits that have ended.
  double seconds() {
    while (!open_.empty() && open_.front()->end.reached()) {
      seconds_ += 1e-3 * static_cast<double>(open_.front()->end.elapsed_ms(open_.front()->begin));
      free_.push_back(std::move(open_.front()));
      open_.pop_front();
    }
    return seconds_;
  }

 private:
  struct Wait {
    cuda::Event begin{cuda::Event::Kind::timed}, end{cuda::Event::Kind::timed};
  };
  /// Waits that are not read yet, in the stream's order.
  std::deque<std::unique_ptr<Wait>> open_;
  std::vector<std::unique_ptr<Wait>> free_;
  double seconds_ = 0;
};

class NcclCollectives : public DeviceCollectives {
 public:
  /// `stream`: the one in which the tensors are computed.
  NcclCollectives(Communicator& ranks, cudaStream_t stream)
      : ranks_(ranks), watchdog_(ranks.watchdog()), stream_(stream), gpu_(cuda::current_gpu()) {
    const Nccl& nccl = Nccl::library();
    ncclUniqueId id{};
    if (ranks_.leads()) check(nccl.get_unique_id(&id), "name the group of ranks");
    broadcast_value(ranks_, id);
    if (watchdog_) watchdog_->begin(Watchdog::device, "connecting the GPUs");
    check(nccl.init(&communicator_, ranks_.size(), id, ranks_.rank()), "connect the GPUs of the ranks");
    for (const size_t count : {few_floats, many_floats}) connect_for(count);
    if (!watchdog_) return;
    watchdog_->end(Watchdog::device);
    watchdog_->also_look([this] { return look(); }, [this] { abort_sums(); });
  }

  ~NcclCollectives() override {
    if (watchdog_) watchdog_->also_look({}, {});
    // During an error, pending sums may wait forever for ranks that never reach them.
    if (std::uncaught_exceptions() > 0) abort_sums();
    if (communicator_) Nccl::library().destroy(communicator_);
  }

  int parts() const override { return ranks_.size(); }
  int part() const override { return ranks_.rank(); }

  void sum(double* values, size_t count) override {
    queue(values, count, ncclDouble, ncclSum);
    finish_all_reduces();
  }

  void start_all_reduce(float* values, size_t count, Reduction reduction) override {
    queue(values, count, ncclFloat, divides(reduction) ? ncclAvg : ncclSum);
  }

  void finish_all_reduces() override {
    done_.record(sums_);
    waits_.measure(stream_, [this] { done_.hold(stream_); });
  }

  /// Counts the steps that the GPU has finished. It is called before and after every step, and so also sets the
  /// watchdog's mark.
  double waited_seconds() override {
    if (watchdog_) set_mark();
    return waits_.seconds();
  }

  void abandon() override { abort_sums(); }

 private:
  /// NCCL makes the connections of an algorithm, and takes their memory, when a sum of such a size first needs them. A run
  /// counts the memory that is free before that.
  void connect_for(size_t count) {
    const size_t bytes = count * sizeof(float);
    const std::unique_ptr<void, decltype(&cuda::release)> values(cuda::allocate(bytes), &cuda::release);
    cuda::fill_async(values.get(), 0, bytes, sums_);
    check(Nccl::library().all_reduce(values.get(), values.get(), count, ncclFloat, ncclSum, communicator_,
                                     sums_),
          "sum over the ranks");
    sums_.synchronize();
  }

  void queue(void* values, size_t count, ncclDataType_t type, ncclRedOp_t reduction) {
    ready_.record(stream_);
    ready_.hold(sums_);
    check(Nccl::library().all_reduce(values, values, count, type, reduction, communicator_, sums_),
          "sum over the ranks");
  }

  /// Aborts at most once, in whichever thread is first. NCCL is not called afterwards.
  void abort_sums() {
    ncclComm_t communicator = nullptr;
    {
      const std::lock_guard lock(mutex_);
      communicator = std::exchange(communicator_, nullptr);
    }
    if (communicator) Nccl::library().abort(communicator);
  }

  /// Lets the watchdog wait until the GPU has done everything queued so far, and counts the calls: the rank
  /// with the lowest count is the one the others wait for.
  void set_mark() {
    const std::lock_guard lock(mutex_);
    if (marked_) return watchdog_->count(Watchdog::device);
    mark_.record(stream_);
    marked_ = true;
    watchdog_->begin(Watchdog::device, "the GPUs' sum of gradients");
  }

  /// In the watchdog's thread: returns NCCL's or CUDA's error, and notes whether the GPU has passed the mark.
  std::string look() {
    const std::lock_guard lock(mutex_);
    if (!communicator_) return "";
    ncclResult_t problem = ncclSuccess;
    Nccl::library().async_error(communicator_, &problem);
    if (problem != ncclSuccess && problem != ncclInProgress)
      return std::string("NCCL reports: ") + Nccl::library().error_string(problem);
    if (!marked_) return "";
    // The current GPU is per thread, and defaults to the machine's first.
    cudaSetDevice(gpu_);
    const cudaError_t status = cudaEventQuery(mark_);
    if (status == cudaErrorNotReady) return "";
    if (status != cudaSuccess) return std::string("CUDA reports: ") + cudaGetErrorString(status);
    marked_ = false;
    watchdog_->end(Watchdog::device);
    return "";
  }

  Communicator& ranks_;
  Watchdog* watchdog_;
  cudaStream_t stream_;
  int gpu_;
  /// High priority: the few blocks of sums must not wait until the backward pass leaves multiprocessors idle.
  cuda::Stream sums_{cuda::Stream::Priority::high};
  cuda::Event ready_, done_, mark_;
  WaitTimes waits_;
  /// Guards what the watchdog's thread also uses.
  std::mutex mutex_;
  ncclComm_t communicator_ = nullptr;
  bool marked_ = false;
};

/// PCI bus address of this process's GPU: "0000:3b:00.0".
std::string bus_address() {
  char address[32] = {};
  cuda::check(cudaDeviceGetPCIBusId(address, sizeof address, cuda::current_gpu()),
              "ask where the GPU is plugged in");
  return address;
}

/// Checks every rank's GPU and NCCL before any of them blocks in NCCL.
void check_gpus(Communicator& ranks, bool on_gpu) {
  std::string place;
  prepare_together(ranks, [&] {
    if (!on_gpu) return;
    Nccl::library();
    place = "GPU " + bus_address() + " of " + host_name();
  });
  const std::vector<std::string> places = ranks.all_gather(place);
  for (size_t rank = 0; rank < places.size(); ++rank) {
    const std::string who = "rank " + std::to_string(rank);
    if (places[rank].empty() != places[0].empty()) {
      throw SharedError(ExitCode::device, who + " computes on the " + (places[rank].empty() ? "CPU" : "GPU") +
                                              " and rank 0 on the " + (places[0].empty() ? "CPU" : "GPU") +
                                              ". Give all of them the same --device.");
    }
    const auto same = std::find(places.begin(), places.end(), places[rank]);
    const auto other = static_cast<size_t>(same - places.begin());
    if (!place.empty() && other < rank) {
      throw SharedError(ExitCode::device,
                        "rank " + std::to_string(other) + " and " + who + " would share " + places[rank] +
                            ". Start as many ranks as there are GPUs, or use --device cpu.");
    }
  }
}

}  // namespace

std::unique_ptr<DeviceCollectives> make_gpu_collectives(Communicator& ranks, Backend& backend) {
  const auto stream = static_cast<cudaStream_t>(backend.native_stream());
  check_gpus(ranks, stream != nullptr);
  if (!stream) return nullptr;
  return std::make_unique<NcclCollectives>(ranks, stream);
}

}  // namespace brightnet
