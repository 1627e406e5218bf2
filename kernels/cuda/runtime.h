// The one door between brightnet and CUDA: everything in kernels/cuda reaches memory, streams,
// events, graphs and launches through this header, and kernels what they need of the language through
// it and kernels/cuda/vector.h.
//
// Three compilers read it. nvcc compiles the kernels (*.cu) for the product, the host compiler the rest
// (*.cpp), and for the tests the host compiler compiles all of it, kernels too: then CUDA's own headers still
// declare the types and functions, and the tests implement them, as they do what kernels/cuda/language.h
// offers (tests/cuda_emulation).
//
// Threads, barriers, shuffles, votes and atomics are CUDA's: threadIdx, __syncthreads(), __shfl_down_sync(),
// __ballot_sync(), atomicAdd(), ... Kernels are written for compute capability 7.5 and up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "kernels/cuda/language.h"

namespace brightnet::cuda {

/// Throws a DeviceError that says what was tried ("allocate 3 MiB on the GPU"), CUDA's reason, and where.
void check(cudaError_t status, const std::string& action,
           const std::source_location& where = std::source_location::current());

// Memory. Contents are undefined until written.

/// Device memory, 256-byte aligned; never null. Throws a DeviceError that says what is free when there
/// is not enough.
void* allocate(size_t bytes);
void release(void* memory) noexcept;

/// Copies between any two memories in the stream's order; host memory must be pinned and stay until the copy
/// is done.
void copy_async(void* to, const void* from, size_t bytes, cudaStream_t stream);
/// Every byte becomes `value`.
void fill_async(void* memory, int value, size_t bytes, cudaStream_t stream);

/// Page-locked host memory: what copies between host and device need to run beside everything else.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  explicit PinnedMemory(size_t bytes);
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

// Streams, events, graphs.

/// A queue of work; never ordered with the default stream.
class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator cudaStream_t() const { return stream_; }
  /// Waits until everything queued so far is done; throws what went wrong in it.
  void synchronize() const;

 private:
  cudaStream_t stream_ = nullptr;
};

/// A mark in a stream that another stream or the host can wait for.
class Event {
 public:
  /// `timing`: elapsed_ms() may be asked for.
  explicit Event(bool timing = false);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) const;
  /// What is queued in `stream` from now on waits until the last record() is reached.
  void hold(cudaStream_t stream) const;
  /// The host waits for it.
  void synchronize() const;
  bool reached() const;
  /// Milliseconds from `earlier`, both reached.
  float elapsed_ms(const Event& earlier) const;

  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Work recorded once and queued again as a whole.
class Graph {
 public:
  /// Records what `queue_work` queues in the stream, which must not synchronize, allocate or free. When it
  /// throws, the capture is undone.
  template <typename Work>
  static Graph capture(cudaStream_t stream, Work&& queue_work) {
    begin(stream);
    try {
      queue_work();
    } catch (...) {
      abandon(stream);
      throw;
    }
    return Graph(stream);
  }
  ~Graph();
  Graph(Graph&& other) noexcept : executable_(std::exchange(other.executable_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(executable_, other.executable_);
    return *this;
  }

  void launch(cudaStream_t stream) const;

 private:
  explicit Graph(cudaStream_t stream);  ///< of what the stream captured
  static void begin(cudaStream_t stream);
  static void abandon(cudaStream_t stream) noexcept;

  cudaGraphExec_t executable_ = nullptr;
};

// Launches.

/// The number of blocks, and where the launch stands in the source.
struct Grid {
  template <typename Count, typename = std::enable_if_t<std::is_integral_v<Count>>>
  Grid(Count x, const std::source_location& where = std::source_location::current())
      : blocks(static_cast<unsigned>(x)), where(where) {}
  Grid(const dim3& blocks, const std::source_location& where = std::source_location::current())
      : blocks(blocks), where(where) {}

  dim3 blocks;
  std::source_location where;
};

/// Blocks of `threads` for `items`, but no more than `most`: a grid-stride loop covers the rest.
inline unsigned blocks_for(size_t items, size_t threads, size_t most = 0x7fffffff) {
  const size_t blocks = (items + threads - 1) / threads;
  return static_cast<unsigned>(blocks == 0 ? 1 : blocks < most ? blocks : most);
}

/// Multiprocessors of the current device, the unit of grids for grid-stride loops.
int multiprocessors();

#ifdef BRIGHTNET_KERNELS

/// Queues kernel<<<grid, block, shared_bytes, stream>>>(arguments...).
template <typename... Parameters>
void launch(void (*kernel)(Parameters...), const Grid& grid, const dim3& block, size_t shared_bytes,
            cudaStream_t stream, const std::type_identity_t<Parameters>&... arguments) {
  check(queue_kernel(kernel, grid.blocks, block, shared_bytes, stream, grid.where, arguments...),
        "launch a kernel", grid.where);
}

#endif

}  // namespace brightnet::cuda
