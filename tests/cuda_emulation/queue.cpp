#include "tests/cuda_emulation/queue.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tests/cuda_emulation/block.h"
#include "tests/cuda_emulation/memory.h"

using brightnet::emulation::Violation;
using brightnet::emulation::Work;

/// A point in a stream: what comes before it is done once `done` of the stream has reached it.
struct StreamPoint {
  std::shared_ptr<struct StreamQueue> queue;
  uint64_t count = 0;
};

struct StreamQueue {
  std::deque<Work> work;
  uint64_t queued = 0, done = 0;
};

struct CUgraph_st {
  std::vector<Work> work;
  CUstream_st* origin = nullptr;
};
struct CUgraphExec_st {
  std::shared_ptr<std::vector<Work>> work;
};
struct CUstream_st {
  std::shared_ptr<StreamQueue> queue = std::make_shared<StreamQueue>();
  CUgraph_st* capture = nullptr;
  int priority = 0;
  int gpu = brightnet::emulation::current_gpu();
  bool joined = true;  ///< of a stream that a capture spread to: the origin waits for all it has queued
};
struct CUevent_st {
  StreamPoint point;
  CUstream_st* captured_in = nullptr;
  bool timing = false;
  int gpu = brightnet::emulation::current_gpu();
  std::shared_ptr<double> reached_at = std::make_shared<double>(0);
};

namespace brightnet::emulation {
namespace {

thread_local int gpu_of_thread = 0;

std::set<CUstream_st*>& streams() {
  static std::set<CUstream_st*> all;
  return all;
}

/// The default stream, which waits for no other and no other for it.
CUstream_st* stream_of(cudaStream_t stream) {
  static CUstream_st* const default_stream = *streams().insert(new CUstream_st).first;
  return stream ? stream : default_stream;
}

void run_until(const StreamPoint& point) {
  StreamQueue& queue = *point.queue;
  while (queue.done < point.count && !queue.work.empty()) {
    const Work work = std::move(queue.work.front());
    queue.work.pop_front();
    ++queue.done;
    work();
  }
}

/// Runs, with memory open; a Violation ends everything that is queued.
void run_open(const StreamPoint& point) {
  try {
    const OpenMemory open;
    run_until(point);
  } catch (...) {
    abandon_queues();
    throw;
  }
}

/// The same in a function that must not throw: what it finds ends the process, since it would
/// be lost otherwise.
template <typename Action>
void or_abort(Action&& action) {
  try {
    action();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "found while something was released: %s\n", error.what());
    std::abort();
  }
}

/// Ends the capture of a graph in every stream that takes part; false when one was not joined again.
bool end_capture(const CUgraph_st* graph) {
  bool joined = true;
  for (CUstream_st* stream : streams()) {
    if (stream->capture != graph) continue;
    joined = joined && (stream->joined || stream == graph->origin);
    stream->capture = nullptr;
    stream->joined = true;
  }
  return joined;
}

double milliseconds_now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

int current_gpu() {
  return gpu_of_thread;
}
void set_current_gpu(int gpu) {
  gpu_of_thread = gpu;
}
void require_current_gpu(cudaStream_t stream, const char* what) {
  if (!stream || stream->gpu == gpu_of_thread) return;
  throw Violation(std::string(what) + " in a stream of GPU " + std::to_string(stream->gpu) + ", and GPU " +
                  std::to_string(gpu_of_thread) + " is the thread's current one");
}

uint64_t next_seed() {
  static uint64_t seed = [] {
    const char* text = std::getenv("BRIGHTNET_EMULATION_SEED");
    return text ? std::strtoull(text, nullptr, 10) : 1;
  }();
  return seed++;
}

void queue_work(cudaStream_t handle, Work work) {
  CUstream_st* stream = stream_of(handle);
  if (stream->capture) {
    stream->joined = stream == stream->capture->origin;
    stream->capture->work.push_back(std::move(work));
    return;
  }
  stream->queue->work.push_back(std::move(work));
  ++stream->queue->queued;
  if (next_seed() % 8 == 0) run_open({stream->queue, stream->queue->queued - next_seed() % 2});
}

void finish(cudaStream_t stream) {
  const auto& queue = stream_of(stream)->queue;
  run_open({queue, queue->queued});
}

void finish_all() {
  for (CUstream_st* stream : streams()) finish(stream);
}

void forbid_in_capture(const char* what) {
  for (const CUstream_st* stream : streams()) {
    if (stream->capture) throw Violation(std::string(what) + " while a graph is captured");
  }
}

void abandon_queues() {
  for (CUstream_st* stream : streams()) {
    stream->queue->work.clear();
    stream->queue->done = stream->queue->queued;
    if (const CUgraph_st* graph = stream->capture) {
      end_capture(graph);
      delete graph;
    }
  }
}

}  // namespace brightnet::emulation

using namespace brightnet::emulation;

// CUDA's functions about streams, events and graphs, as cuda_runtime_api.h declares them.

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  if (priority > 0 || priority < -5) return cudaErrorInvalidValue;
  const cudaError_t created = cudaStreamCreateWithFlags(stream, flags);
  if (created == cudaSuccess) (*stream)->priority = priority;
  return created;
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  *priority = stream_of(stream)->priority;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = *streams().insert(new CUstream_st).first;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  or_abort([&] { finish(stream); });
  streams().erase(stream);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  forbid_in_capture("waiting for a stream");
  finish(stream);
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  forbid_in_capture("waiting for the GPU");
  finish_all();
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  const auto& queue = stream_of(handle)->queue;
  if (queue->done < queue->queued) run_open({queue, queue->done + 1});
  return queue->done == queue->queued ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  queue_work(stream, [=] { function(data); });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new CUevent_st;
  (*event)->timing = !(flags & cudaEventDisableTiming);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  CUstream_st* stream = stream_of(handle);
  if (handle && stream->gpu != event->gpu)
    throw Violation("an event of one GPU is recorded in a stream of another");
  if (stream->capture) {
    event->captured_in = stream;
    return cudaSuccess;
  }
  event->captured_in = nullptr;
  event->reached_at = std::make_shared<double>(0);
  queue_work(stream, [reached = event->reached_at] { *reached = milliseconds_now(); });
  event->point = {stream->queue, stream->queue->queued};
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  CUstream_st* stream = stream_of(handle);
  if (event->captured_in) {
    // The capture spreads to a stream that waits for it, and joins when the origin waits in turn.
    CUgraph_st* graph = event->captured_in->capture;
    if (!graph) throw Violation("a stream waits for an event of a capture that has ended");
    if (stream->capture && stream->capture != graph) throw Violation("two captures wait for each other");
    if (stream == graph->origin) event->captured_in->joined = true;
    stream->capture = graph;
    return cudaSuccess;
  }
  if (stream->capture) throw Violation("a captured stream waits for an event from outside of the capture");
  if (event->point.queue) queue_work(stream, [point = event->point] { run_until(point); });
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  forbid_in_capture("waiting for an event");
  if (event->point.queue) run_open(event->point);
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const StreamPoint& point = event->point;
  if (!point.queue || point.queue->done >= point.count) return cudaSuccess;
  run_open({point.queue, point.queue->done + 1});
  return point.queue->done >= point.count ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (!start->timing || !end->timing) return cudaErrorInvalidResourceHandle;
  for (const CUevent_st* event : {start, end}) {
    if (!event->point.queue || event->point.queue->done < event->point.count) return cudaErrorNotReady;
  }
  *milliseconds = static_cast<float>(*end->reached_at - *start->reached_at);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (!stream) return cudaErrorStreamCaptureUnsupported;
  stream->capture = new CUgraph_st;
  stream->capture->origin = stream;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = stream->capture;
  if (!stream->capture) return cudaErrorStreamCaptureInvalidated;
  if (end_capture(*graph)) return cudaSuccess;
  delete std::exchange(*graph, nullptr);
  return cudaErrorStreamCaptureUnjoined;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = stream_of(stream)->capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  *executable = new CUgraphExec_st{std::make_shared<std::vector<Work>>(graph->work)};
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  queue_work(stream, [all = executable->work] {
    for (const Work& work : *all) work();
  });
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}
