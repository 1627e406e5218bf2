// CUDA's functions about memory, devices and errors, as cuda_runtime_api.h declares them, for
// the emulated GPU.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#include "tests/cuda_emulation/block.h"
#include "tests/cuda_emulation/memory.h"
#include "tests/cuda_emulation/queue.h"
#include "tests/cuda_emulation/traffic.h"

using namespace brightnet::emulation;

namespace {

cudaError_t last_error = cudaSuccess;

cudaError_t fail(cudaError_t error) {
  last_error = error;
  return error;
}

/// Part of one allocation, or of the host's ordinary memory.
void check_range(const void* memory, size_t bytes, const char* what) {
  if (memory == nullptr) throw Violation(std::string(what) + " a null pointer");
  if (is_device(memory, 0) && !is_device(memory, bytes)) {
    throw Violation(std::string(what) + ' ' + std::to_string(bytes) + " bytes from " +
                    describe_address(memory));
  }
  if (!is_device(memory, 0) && describe_address(memory) != "the host's memory") {
    throw Violation(std::string(what) + ' ' + describe_address(memory));
  }
}

bool is_pageable(const void* memory, size_t bytes) {
  return !is_device_accessible(memory, bytes);
}

/// Grids and partial sums depend on it: 2 is quick, and the tests also run with an H200's 132.
int multiprocessors() {
  static const int count = [] {
    const char* text = std::getenv("BRIGHTNET_EMULATION_MULTIPROCESSORS");
    return text ? std::max(1, std::atoi(text)) : 2;
  }();
  return count;
}

void check_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  check_range(to, bytes, "a copy writes");
  check_range(from, bytes, "a copy reads");
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind != cudaMemcpyDefault &&
      (to_device != is_device(to, bytes) || from_device != is_device(from, bytes)))
    throw Violation("a copy says a kind that its addresses are not of");
}

}  // namespace

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  forbid_in_capture("allocating");
  *memory = allocate_device(bytes);
  return *memory ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void* memory) {
  if (!memory) return cudaSuccess;
  try {
    forbid_in_capture("freeing");
    finish_all();
    if (!release_device(memory)) throw Violation("what is freed is no live device memory");
  } catch (const Violation& violation) {
    std::fprintf(stderr, "found while memory was freed: %s\n", violation.what());
    std::abort();
  }
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** memory, size_t bytes) {
  forbid_in_capture("allocating");
  *memory = allocate_pinned(bytes);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  return cudaMallocHost(memory, bytes);
}
cudaError_t cudaFreeHost(void* memory) {
  finish_all();
  return release_pinned(memory) ? cudaSuccess : fail(cudaErrorInvalidValue);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  check_copy(to, from, bytes, kind);
  const bool pageable = is_pageable(to, bytes) || is_pageable(from, bytes);
  if (pageable) forbid_in_capture("copying memory that is not pinned");
  if (is_pageable(from, bytes)) {
    // CUDA takes a copy of its own before it returns.
    const auto* bytes_now = static_cast<const unsigned char*>(from);
    auto staged = std::make_shared<std::vector<unsigned char>>(bytes_now, bytes_now + bytes);
    queue_work(stream, [=] { std::memcpy(to, staged->data(), bytes); });
  } else {
    queue_work(stream, [=] {
      check_copy(to, from, bytes, kind);
      if (is_device(to, bytes) && is_device(from, bytes)) count_transfer({bytes, bytes});
      std::memmove(to, from, bytes);
    });
  }
  if (is_pageable(to, bytes)) finish(stream);  // nor does it return before such memory is written
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  forbid_in_capture("a copy that waits");
  cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  finish(nullptr);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream) {
  const auto check = [=] {
    if (!is_device_accessible(memory, bytes)) {
      throw Violation("filling " + std::to_string(bytes) + " bytes from " + describe_address(memory));
    }
  };
  check();
  require_current_gpu(stream, "filling memory");
  queue_work(stream, [=] {
    check();
    count_transfer({0, bytes});
    std::memset(memory, value, bytes);
  });
  return cudaSuccess;
}
cudaError_t cudaMemset(void* memory, int value, size_t bytes) {
  cudaMemsetAsync(memory, value, bytes, nullptr);
  finish(nullptr);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *total = device_memory();
  *free = *total - std::min(*total, allocated_device_memory());
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  *attributes = {};
  attributes->type = is_device(memory, 0)   ? cudaMemoryTypeDevice
                     : is_pinned(memory, 0) ? cudaMemoryTypeHost
                                            : cudaMemoryTypeUnregistered;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = gpus;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_gpu();
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= gpus) return fail(cudaErrorInvalidDevice);
  set_current_gpu(device);
  return cudaSuccess;
}
// Of the driver's functions those of contexts, of which each GPU has one.
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long, cudaDriverEntryPointQueryResult* found) {
  static char contexts[gpus];
  int (*const get)(void**) = [](void** context) { return *context = &contexts[current_gpu()], 0; };
  int (*const set)(void*) = [](void* context) {
    return set_current_gpu(static_cast<int>(static_cast<char*>(context) - contexts)), 0;
  };
  const std::string name = symbol;
  if (name != "cuCtxGetCurrent" && name != "cuCtxSetCurrent") return fail(cudaErrorInvalidValue);
  *function = name == "cuCtxGetCurrent" ? reinterpret_cast<void*>(get) : reinterpret_cast<void*>(set);
  *found = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
// The smallest GPU there could be: two multiprocessors of compute capability 7.5. Grids are made for it, so
// that loops over more items than threads run their second round.
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = multiprocessors(); return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor: *value = 7; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: *value = 5; return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 64 << 10; return cudaSuccess;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 1024; return cudaSuccess;
    default: return fail(cudaErrorInvalidValue);
  }
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= gpus) return fail(cudaErrorInvalidDevice);
  *properties = {};
  std::strcpy(properties->name, "emulated GPU");
  properties->major = 7;
  properties->minor = 5;
  properties->multiProcessorCount = 2;
  properties->totalGlobalMem = device_memory();
  properties->maxThreadsPerMultiProcessor = 1024;
  properties->sharedMemPerBlock = 48 << 10;
  properties->sharedMemPerBlockOptin = 64 << 10;
  properties->warpSize = 32;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
  return last_error;
}
const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    default: return "cudaError";
  }
}
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    default: return "an error of the emulated GPU";
  }
}
