#include "train/communicator/nccl.h"

#include <cstdlib>
#include <exception>
#include <mutex>

#include <nccl.h>

#include "core/error.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/runtime.h"
#include "train/communicator/mpi.h"

namespace brightnet {
namespace {

/// NCCL's functions, from the library that is loaded when the first GPU communicator is made.
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

bool capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cuda::check(cudaStreamIsCapturing(stream, &status), "ask whether a stream is being recorded");
  return status != cudaStreamCaptureStatusNone;
}

/// A time stamp in the stream, also in one that is recorded into a graph: then it is new in each replay.
void stamp(const cuda::Event& event, cudaStream_t stream) {
  const unsigned flags = capturing(stream) ? cudaEventRecordExternal : cudaEventRecordDefault;
  cuda::check(cudaEventRecordWithFlags(event, stream, flags), "note a time on the GPU");
}

class NcclCommunicator : public Communicator {
 public:
  NcclCommunicator(Communicator& ranks, cudaStream_t stream) : ranks_(ranks), stream_(stream) {
    const Nccl& nccl = Nccl::library();
    ncclUniqueId id;
    if (leads()) check(nccl.get_unique_id(&id), "name the group of ranks");
    broadcast_value(ranks_, id);
    check(nccl.init(&communicator_, size(), id, rank()), "connect the GPUs of the ranks");
    for (const cuda::Event* event : {&origin_, &before_wait_, &behind_wait_, &tick_}) stamp(*event, stream_);
    watch();
  }

  ~NcclCommunicator() override {
    if (watchdog_) watchdog_->also_look({}, {});
    // While an error takes this rank away, sums may wait for others that will never come.
    const Nccl& nccl = Nccl::library();
    std::uncaught_exceptions() > 0 ? nccl.abort(communicator_) : nccl.destroy(communicator_);
  }

  int rank() const override { return ranks_.rank(); }
  int size() const override { return ranks_.size(); }
  int local_rank() const override { return ranks_.local_rank(); }
  int local_size() const override { return ranks_.local_size(); }
  void all_reduce(std::span<double> values) override { ranks_.all_reduce(values); }
  void broadcast(std::span<std::byte> bytes, int root) override { ranks_.broadcast(bytes, root); }
  std::vector<std::string> all_gather(std::string_view bytes) override { return ranks_.all_gather(bytes); }
  void barrier() override { ranks_.barrier(); }
  void set_time_limit(double seconds) override { ranks_.set_time_limit(seconds); }
  [[noreturn]] void fail(const std::string& message, int exit_code) override {
    // Sums that wait for other ranks would keep the GPU, and so this process, from ending.
    Nccl::library().abort(communicator_);
    ranks_.fail(message, exit_code);
    std::abort();  // not reached: g++ does not know that a virtual function does not return
  }

  void sum(double* values, size_t count) override {
    queue(values, count, ncclDouble, ncclSum);
    finish_all_reduces();
  }

  void start_all_reduce(float* values, size_t count, Reduction reduction) override {
    queue(values, count, ncclFloat, reduction == Reduction::mean ? ncclAvg : ncclSum);
  }

  void finish_all_reduces() override {
    done_.record(sums_);
    stamp(before_wait_, stream_);
    done_.hold(stream_);
    stamp(behind_wait_, stream_);
  }

  /// Also called once a step, which is where the watchdog gets its marks from.
  double waited_seconds() override {
    const std::lock_guard lock(mutex_);
    if (!before_wait_.reached() || !behind_wait_.reached()) return waited_;
    // A replayed graph does not pass here: whether it was another wait shows in its time.
    const float at = before_wait_.elapsed_ms(origin_);
    if (at > last_wait_at_) waited_ += 1e-3 * static_cast<double>(behind_wait_.elapsed_ms(before_wait_));
    last_wait_at_ = at;
    if (watchdog_ && !ticking_ && !capturing(stream_)) {
      tick_.record(stream_);
      ticking_ = true;
      watchdog_->begin(Watchdog::device, "the GPUs' sum of gradients");
    }
    return waited_;
  }

 private:
  void queue(void* values, size_t count, ncclDataType_t type, ncclRedOp_t reduction) {
    ready_.record(stream_);
    ready_.hold(sums_);
    check(Nccl::library().all_reduce(values, values, count, type, reduction, communicator_, sums_),
          "sum over the ranks");
  }

  void watch() {
    auto* mpi = dynamic_cast<MpiCommunicator*>(&ranks_);
    if (!mpi) return;
    watchdog_ = &mpi->watchdog();
    watchdog_->also_look([this] { return look(); }, [this] { Nccl::library().abort(communicator_); });
  }

  /// In the watchdog's thread: what NCCL has noticed, and whether the GPU has passed the last mark.
  std::string look() {
    ncclResult_t problem = ncclSuccess;
    Nccl::library().async_error(communicator_, &problem);
    if (problem != ncclSuccess && problem != ncclInProgress) {
      return std::string("NCCL reports: ") + Nccl::library().error_string(problem);
    }
    const std::lock_guard lock(mutex_);
    // Questions about events are refused while another thread records a graph, unless this one says it knows.
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    if (ticking_ && tick_.reached()) {
      ticking_ = false;
      watchdog_->end(Watchdog::device);
    }
    cudaThreadExchangeStreamCaptureMode(&mode);
    return "";
  }

  Communicator& ranks_;
  cudaStream_t stream_;
  cuda::Stream sums_;
  cuda::Event ready_, done_, tick_, origin_{true}, before_wait_{true}, behind_wait_{true};
  ncclComm_t communicator_ = nullptr;
  Watchdog* watchdog_ = nullptr;
  std::mutex mutex_;
  bool ticking_ = false;
  double waited_ = 0;
  float last_wait_at_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> make_gpu_communicator(Communicator& ranks, Backend& backend) {
  const auto* gpu = dynamic_cast<const cuda::CudaBackend*>(&backend);
  if (!gpu) return nullptr;
  return std::make_unique<NcclCommunicator>(ranks, gpu->stream());
}

}  // namespace brightnet
