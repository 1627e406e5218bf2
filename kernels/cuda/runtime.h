// The only interface between brightnet and CUDA: all of kernels/cuda uses memory, streams, events, graphs and
// launches through this header, and kernels use the device language through it and kernels/cuda/vector.h.
//
// For the product, nvcc compiles the kernels (*.cu) and the host compiler the rest (*.cpp). For tests without
// a GPU, the host compiler compiles both: CUDA's headers still declare the runtime API, and
// tests/cuda_emulation implements it and kernels/cuda/language.h.
//
// Threads, barriers, shuffles, votes and atomics are CUDA's: threadIdx, __syncthreads(), __shfl_down_sync(),
// __ballot_sync(), atomicAdd(), ... Kernels are written for compute capability 7.5 and up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "kernels/cuda/language.h"
#include "kernels/traffic.h"

namespace brightnet::cuda {

/// Throws a DeviceError with the action ("allocate 3 MiB on the GPU"), CUDA's error, and the source location.
void check(cudaError_t status, const std::string& action,
           const std::source_location& where = std::source_location::current());

// Memory. Contents are undefined until written.

/// Device memory, 256-byte aligned; never null. Throws a DeviceError with the free memory when there is
/// not enough.
void* allocate(size_t bytes);
void release(void* memory) noexcept;

/// Queues a copy between any two memories; host memory must be pinned and stay valid until the copy is done.
void copy_async(void* to, const void* from, size_t bytes, cudaStream_t stream);
/// Queues writing `value` to every byte.
void fill_async(void* memory, int value, size_t bytes, cudaStream_t stream);

/// Page-locked host memory, which asynchronous copies need.
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

/// A stream that does not synchronize with the default stream.
class Stream {
 public:
  /// Blocks of a stream of high priority go before those of the others that have not begun.
  enum class Priority : uint8_t { normal, high };
  explicit Stream(Priority priority = Priority::normal);
  /// The stream of a backend that queues nothing.
  explicit Stream(std::nullptr_t) {}
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator cudaStream_t() const { return stream_; }
  /// Waits until everything queued so far is done; throws its errors.
  void synchronize() const;

 private:
  cudaStream_t stream_ = nullptr;
};

/// An event that another stream or the host can wait for.
class Event {
 public:
  enum class Kind : uint8_t {
    order,
    timed,     ///< records the time, for elapsed_ms()
    slept_for  ///< while synchronize() waits, it leaves the processor to others
  };
  explicit Event(Kind kind = Kind::order);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) const;
  /// Later work in `stream` waits for the last record().
  void hold(cudaStream_t stream) const;
  void synchronize() const;
  bool reached() const;
  /// Milliseconds from `earlier`, both reached.
  float elapsed_ms(const Event& earlier) const;

  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// A captured CUDA graph.
class Graph {
 public:
  /// Captures what `queue_work` queues in the stream; it must not synchronize, allocate or free. When it
  /// throws, the capture is abandoned.
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
  explicit Graph(cudaStream_t stream);  ///< ends the capture and makes its graph
  static void begin(cudaStream_t stream);
  static void abandon(cudaStream_t stream) noexcept;

  cudaGraphExec_t executable_ = nullptr;
};

/// Whether what is queued in this stream is captured into a graph.
bool is_capturing(cudaStream_t stream);

// Launches.

/// The number of blocks, the launch's source location, and what it moves.
struct Grid {
  template <typename Count, typename = std::enable_if_t<std::is_integral_v<Count>>>
  Grid(Count x, const std::source_location& where = std::source_location::current())
      : blocks(static_cast<unsigned>(x)), where(where) {}
  Grid(const dim3& blocks, const std::source_location& where = std::source_location::current())
      : blocks(blocks), where(where) {}

  /// Returns the grid with the launch's traffic. Every launch of a training step states it: `bench --traffic`
  /// adds up these statements, and the emulation holds them against what the kernel does.
  Grid moving(const Traffic& moved) const {
    Grid grid = *this;
    grid.traffic = moved;
    return grid;
  }

  dim3 blocks;
  std::source_location where;
  std::optional<Traffic> traffic;
};

/// Blocks of `threads` for `items`, but no more than `most`: a grid-stride loop covers the rest.
inline unsigned blocks_for(size_t items, size_t threads, size_t most = 0x7fffffff) {
  const size_t blocks = (items + threads - 1) / threads;
  return static_cast<unsigned>(blocks == 0 ? 1 : blocks < most ? blocks : most);
}

/// Multiprocessors of the current device (of the list of launches, if there is one), the unit of grids for
/// grid-stride loops.
int multiprocessors();

/// The calling thread's current GPU.
int current_gpu();
/// Makes this GPU the calling thread's current one, which it is until the thread chooses another. If it
/// fails, so does the next call, which reports it.
void choose_gpu(int gpu) noexcept;

/// The calling thread's current context, whoever made it and on whichever GPU; null where it has none, or there is no driver.
void* current_context() noexcept;
/// Makes a context the current one again. With null it does nothing: the thread had used no GPU.
void choose_context(void* context) noexcept;

#ifdef BRIGHTNET_KERNELS

/// Queues kernel<<<grid, block, shared_bytes, stream>>>(arguments...), or adds it to the list of launches.
template <typename... Parameters>
void launch(void (*kernel)(Parameters...), const Grid& grid, const dim3& block, size_t shared_bytes,
            cudaStream_t stream, const std::type_identity_t<Parameters>&... arguments) {
  const Traffic* traffic = grid.traffic ? &*grid.traffic : nullptr;
  if (LaunchList* list = LaunchList::current()) return list->add_kernel(traffic, grid.where);
  check(queue_kernel(kernel, grid.blocks, block, shared_bytes, stream, grid.where, traffic, arguments...),
        "launch a kernel", grid.where);
}

#endif

}  // namespace brightnet::cuda
