#include "kernels/cuda/cuda_backend.h"

#include <utility>

#include "core/host_memory.h"
#include "core/log.h"
#include "kernels/cuda/jpeg_decoder.h"
#include "kernels/cuda/last_block.h"
#include "kernels/cuda/nvjpeg.h"
#include "kernels/cuda/paint.h"
#include "kernels/cuda/transfers.h"

namespace brightnet::cuda {
namespace {

class GraphRecording : public Recording {
 public:
  GraphRecording(Graph graph, const Stream& stream) : graph_(std::move(graph)), stream_(stream) {}
  void replay() override { graph_.launch(stream_); }

 private:
  Graph graph_;
  const Stream& stream_;
};

}  // namespace

struct CudaBackend::Queues {
  Queues() { fill_async(tickets.get(), 0, most_tickets * sizeof(unsigned), work); }

  int gpu = current_gpu();
  Stream work;
  std::unique_ptr<void, decltype(&cuda::release)> tickets{cuda::allocate(most_tickets * sizeof(unsigned)),
                                                          &cuda::release};
  StagingRing staging;
  UploadsAhead ahead;
};

CudaBackend::CudaBackend(std::string name, ConvolutionFactory convolutions)
    : name_(std::move(name)), queues_(std::make_unique<Queues>()), convolutions_(std::move(convolutions)) {}

CudaBackend::CudaBackend(Planner, std::string name, ConvolutionFactory convolutions)
    : name_(std::move(name)), convolutions_(std::move(convolutions)) {}

std::unique_ptr<CudaBackend> CudaBackend::planner(std::string name, ConvolutionFactory convolutions) {
  return std::unique_ptr<CudaBackend>(new CudaBackend(Planner{}, std::move(name), std::move(convolutions)));
}

CudaBackend::~CudaBackend() {
  if (queues_) choose_gpu(queues_->gpu);
}

// CUDA refuses kernels in a stream that is not of the thread's current GPU. That may be another: the thread is not the one
// that made this backend, or has used a backend on another GPU since. All operations come here for their stream.
CudaBackend::Queues& CudaBackend::queues() const {
  BRIGHTNET_CHECK(queues_, "a planning backend cannot compute");
  choose_gpu(queues_->gpu);
  return *queues_;
}

bool CudaBackend::lists() const {
  return !queues_ && LaunchList::current();
}

const Stream& CudaBackend::stream() const {
  return lists() ? no_stream_ : queues().work;
}

unsigned* CudaBackend::tickets() const {
  return lists() ? nullptr : static_cast<unsigned*>(queues().tickets.get());
}

void* CudaBackend::allocate(size_t bytes) {
  void* memory = lists() ? LaunchList::current()->address(bytes) : (queues(), cuda::allocate(bytes));
  count_allocation(bytes);
  return memory;
}

void CudaBackend::release(void* memory, size_t bytes) {
  if (queues_) {
    choose_gpu(queues_->gpu);
    cuda::release(memory);
  }
  count_release(bytes);
}

size_t CudaBackend::free_bytes() const {
  queues();
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "ask for the GPU's free memory");
  return free;
}

void CudaBackend::upload(void* device, const void* host, size_t bytes) {
  if (lists()) return;
  queues().staging.upload(device, host, bytes, queues().work);
}
void CudaBackend::download(void* host, const void* device, size_t bytes) {
  BRIGHTNET_CHECK(!lists(), "what is only listed has no results");
  queues().staging.download(host, device, bytes, queues().work);
}
void CudaBackend::copy(void* to, const void* from, size_t bytes) {
  copy_async(to, from, bytes, stream());
}
void CudaBackend::zero(void* memory, size_t bytes) {
  fill_async(memory, 0, bytes, stream());
}
void CudaBackend::synchronize() {
  if (lists()) return;
  queues().work.synchronize();
}
std::unique_ptr<Readback> CudaBackend::make_readback(size_t bytes) {
  if (lists()) return nullptr;
  return cuda::make_readback(bytes, queues().work);
}

// Also called from the loader's threads.
void* CudaBackend::allocate_host(size_t bytes) {
  queues();
  void* memory = nullptr;
  check(cudaMallocHost(&memory, bytes > 0 ? bytes : 1),
        "lock " + format_bytes(bytes) + " of the host's memory");
  return memory;
}
void CudaBackend::release_host(void* memory) {
  queues();  // else a loader thread would create a context on GPU 0
  cudaFreeHost(memory);
}
void CudaBackend::upload_ahead(void* device, const void* host, size_t bytes) {
  queues().ahead.upload(device, host, bytes, queues().work);
}
void CudaBackend::paint_ahead(const Pictures& pictures, void* memory, const Tensor& pixels) {
  queues().ahead.upload(memory, pictures.data, pictures.bytes, queues().work,
                        [&](const Stream& stream) { cuda::paint(pictures.layout, memory, pixels, stream); });
}
void CudaBackend::finish_uploads() {
  if (lists()) return;
  queues().ahead.finish();
}
void CudaBackend::hold_uploads() {
  if (lists()) return;
  queues().ahead.hold(queues().work);
}

// A plan is for another machine, which may have nvJPEG.
std::string CudaBackend::why_no_jpeg_decoder() const {
  return queues_ ? nvjpeg().problem : "";
}
size_t CudaBackend::jpeg_decoder_bytes(int lanes) const {
  return cuda::jpeg_decoder_bytes(lanes);
}
std::unique_ptr<JpegDecoder> CudaBackend::make_jpeg_decoder(int lanes) {
  const size_t bytes = jpeg_decoder_bytes(lanes);
  return cuda::make_jpeg_decoder(lanes,
                                 {allocate(bytes), [this, bytes](void* memory) { release(memory, bytes); }});
}

std::unique_ptr<Recording> CudaBackend::record(const std::function<void()>& work) {
  if (!captures_) return nullptr;
  try {
    return std::make_unique<GraphRecording>(Graph::capture(stream(), work), queues().work);
  } catch (const DeviceError& e) {
    captures_ = false;
    cudaGetLastError();  // clears the error
    log::warn(
        "This step cannot be captured as a CUDA graph ({}). Its operations are launched one by one instead, "
        "as with --no-graph, which is slower.",
        e.what());
    return nullptr;
  }
}
std::unique_ptr<WorkClock> CudaBackend::make_work_clock() {
  return cuda::make_work_clock(queues().work);
}

// open_device() refuses int8 with advice; this is what another program's call of the interface gets.
void CudaBackend::quantize(const Tensor&, const QuantizedRange&, const Tensor&) {
  throw DeviceError("'" + name_ + "' does not compute in int8", "", "The CPU does.");
}

std::unique_ptr<Convolution> CudaBackend::plan_convolution(const ConvolutionSpec& spec) {
  if (spec.quantized) throw DeviceError("'" + name_ + "' does not compute in int8", "", "The CPU does.");
  return convolutions_(spec, queues_ ? cudaStream_t{stream()} : nullptr);
}

}  // namespace brightnet::cuda
