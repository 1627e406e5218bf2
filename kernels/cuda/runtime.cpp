#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {
namespace {

std::string mebibytes(size_t bytes) {
  return bytes < size_t{10} << 20 ? std::to_string(bytes) + " bytes" : std::to_string(bytes >> 20) + " MiB";
}

/// A function of the driver, which the runtime has loaded; null without a driver. It returns 0 when it has done its work.
template <typename Function>
Function* driver_function(const char* name) noexcept {
  constexpr unsigned oldest = 12000;
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  if (cudaGetDriverEntryPointByVersion(name, &function, oldest, cudaEnableDefault, &found) == cudaSuccess)
    return reinterpret_cast<Function*>(function);
  cudaGetLastError();
  return nullptr;
}

}  // namespace

void check(cudaError_t status, const std::string& action, const std::source_location& where) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears errors that do not break the context
  const bool broken = status == cudaErrorIllegalAddress || status == cudaErrorLaunchFailure ||
                      status == cudaErrorAssert || status == cudaErrorMisalignedAddress ||
                      status == cudaErrorHardwareStackError || status == cudaErrorIllegalInstruction;
  const std::string place = std::string(where.file_name()) + ':' + std::to_string(where.line());
  throw DeviceError(
      "CUDA could not " + action + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ')',
      place,
      broken ? "A kernel failed: the GPU's memory of this process is lost. Run again under compute-sanitizer "
               "to see where."
             : "");
}

void* allocate(size_t bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes > 0 ? bytes : 1);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "ask for the GPU's free memory");
    throw DeviceError("the GPU has no room for " + mebibytes(bytes) + ": " + mebibytes(free) + " of " +
                          mebibytes(total) + " are free",
                      "", "Use a smaller batch, micro_batch, size or precision.");
  }
  check(status, "allocate " + mebibytes(bytes) + " on the GPU");
  return memory;
}

void release(void* memory) noexcept {
  cudaFree(memory);
}

void copy_async(void* to, const void* from, size_t bytes, cudaStream_t stream) {
  if (LaunchList* list = LaunchList::current()) {
    const Traffic traffic{bytes, bytes};
    return list->add_kernel(&traffic, std::source_location::current());
  }
  if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "copy memory");
}

void fill_async(void* memory, int value, size_t bytes, cudaStream_t stream) {
  if (LaunchList* list = LaunchList::current()) {
    const Traffic traffic{0, bytes};
    return list->add_kernel(&traffic, std::source_location::current());
  }
  if (bytes > 0) check(cudaMemsetAsync(memory, value, bytes, stream), "fill memory");
}

PinnedMemory::PinnedMemory(size_t bytes) : bytes_(bytes) {
  check(cudaMallocHost(&data_, bytes > 0 ? bytes : 1), "lock " + mebibytes(bytes) + " of the host's memory");
}

PinnedMemory::~PinnedMemory() {
  if (data_) cudaFreeHost(data_);
}

Stream::Stream(Priority priority) {
  int lowest = 0, highest = 0;
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "ask for the priorities of streams");
  check(
      cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority == Priority::high ? highest : 0),
      "make a stream");
}

Stream::~Stream() {
  if (stream_) cudaStreamDestroy(stream_);
}

void Stream::synchronize() const {
  check(cudaStreamSynchronize(stream_), "finish the work that was queued");
}

Event::Event(Kind kind) {
  unsigned flags = cudaEventDisableTiming;
  if (kind == Kind::timed) flags = cudaEventDefault;
  if (kind == Kind::slept_for) flags |= cudaEventBlockingSync;
  check(cudaEventCreateWithFlags(&event_, flags), "make an event");
}

Event::~Event() {
  cudaEventDestroy(event_);
}

void Event::record(cudaStream_t stream) const {
  check(cudaEventRecord(event_, stream), "record an event");
}

void Event::hold(cudaStream_t stream) const {
  check(cudaStreamWaitEvent(stream, event_, 0), "wait for an event");
}

void Event::synchronize() const {
  check(cudaEventSynchronize(event_), "finish the work before an event");
}

bool Event::reached() const {
  const cudaError_t status = cudaEventQuery(event_);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check(status, "ask whether an event is reached");
  return true;
}

float Event::elapsed_ms(const Event& earlier) const {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "measure the time between two events");
  return milliseconds;
}

void Graph::begin(cudaStream_t stream) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin to capture a graph");
}

void Graph::abandon(cudaStream_t stream) noexcept {
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream, &graph);
  if (graph) cudaGraphDestroy(graph);
  cudaGetLastError();
}

Graph::Graph(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "capture a graph");
  const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "instantiate a graph");
}

Graph::~Graph() {
  if (executable_) cudaGraphExecDestroy(executable_);
}

void Graph::launch(cudaStream_t stream) const {
  check(cudaGraphLaunch(executable_, stream), "launch a graph");
}

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "ask whether a graph is captured");
  return status != cudaStreamCaptureStatusNone;
}

int multiprocessors() {
  if (const LaunchList* list = LaunchList::current()) return list->multiprocessors();
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, current_gpu()),
        "ask for the GPU's size");
  return count;
}

int current_gpu() {
  int gpu = 0;
  check(cudaGetDevice(&gpu), "ask for the current GPU");
  return gpu;
}

void choose_gpu(int gpu) noexcept {
  int current = -1;
  if (cudaGetDevice(&current) != cudaSuccess || current != gpu) cudaSetDevice(gpu);
}

// The driver's contexts, since cudaSetDevice() of a GPU that nobody has used makes a context there, which takes some hundred
// MiB; and the host may have a CUDA runtime of its own, with which this one shares the contexts alone.
void* current_context() noexcept {
  auto* const ask = driver_function<int(void**)>("cuCtxGetCurrent");
  void* context = nullptr;
  return ask && ask(&context) == 0 ? context : nullptr;
}

void choose_context(void* context) noexcept {
  auto* const choose = context ? driver_function<int(void*)>("cuCtxSetCurrent") : nullptr;
  if (choose) choose(context);
}

}  // namespace brightnet::cuda
