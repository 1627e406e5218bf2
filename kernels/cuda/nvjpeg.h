// The functions of NVIDIA's JPEG decoder that are used, as nvjpeg.h of CUDA 13 declares them: with them here, every build has
// the decoder, whether that header is installed or not.
#pragma once

#include <cstddef>
#include <string>

#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

using NvjpegHandle = struct NvjpegHandleData*;
using NvjpegState = struct NvjpegStateData*;

enum class NvjpegStatus : int {
  success = 0,
  bad_jpeg = 3,
  jpeg_not_supported = 4,
  allocator_failure = 5,
  implementation_not_supported = 9,
  incomplete_bitstream = 10
};

enum class NvjpegOutput : int { y = 2, rgb_interleaved = 5 };

enum class NvjpegBackend : int { standard = 0, hardware = 3 };

/// The hardware takes no more files than the batch has, nor memory for them.
constexpr unsigned nvjpeg_one_batch = 1u << 0;
/// Chroma is interpolated between its samples, as by libjpeg, instead of repeated.
constexpr unsigned nvjpeg_interpolates_chroma = 1u << 5;

struct NvjpegImage {
  unsigned char* channel[4];
  size_t pitch[4];
};

/// Each function returns 0 when it succeeds. Memory is released in the order of the stream.
struct NvjpegDeviceAllocator {
  int (*allocate)(void* context, void** memory, size_t bytes, cudaStream_t stream);
  int (*release)(void* context, void* memory, size_t bytes, cudaStream_t stream);
  void* context;
};
struct NvjpegPinnedAllocator {
  int (*allocate)(void* context, void** memory, size_t bytes, cudaStream_t stream);
  int (*release)(void* context, void* memory, size_t bytes, cudaStream_t stream);
  void* context;
};

struct Nvjpeg {
  std::string problem;  ///< why nvJPEG cannot be used; empty: it can
  NvjpegStatus (*create)(NvjpegBackend, NvjpegDeviceAllocator*, NvjpegPinnedAllocator*, unsigned flags,
                         NvjpegHandle*) = nullptr;
  NvjpegStatus (*destroy)(NvjpegHandle) = nullptr;
  NvjpegStatus (*create_state)(NvjpegHandle, NvjpegState*) = nullptr;
  NvjpegStatus (*destroy_state)(NvjpegState) = nullptr;
  // Decoding: the host's part is done when it returns, the device's is queued in the stream.
  NvjpegStatus (*decode)(NvjpegHandle, NvjpegState, const unsigned char* file, size_t bytes, NvjpegOutput,
                         NvjpegImage* pixels, cudaStream_t) = nullptr;
  /// Precedes calls of decode_batch() for batches of so many files and this output.
  NvjpegStatus (*begin_batches)(NvjpegHandle, NvjpegState, int files, int host_threads,
                                NvjpegOutput) = nullptr;
  /// Decodes with the backend that the handle was made with.
  NvjpegStatus (*decode_batch)(NvjpegHandle, NvjpegState, const unsigned char* const* files,
                               const size_t* bytes, NvjpegImage* pixels, cudaStream_t) = nullptr;
};

/// libnvjpeg.so.13, loaded at the first call.
const Nvjpeg& nvjpeg();

}  // namespace brightnet::cuda
