// One block of the emulated GPU at a time: its threads as fibers, its shared memory, and
// their synchronization.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "tests/cuda_emulation/device.h"

namespace brightnet::emulation {

/// A kernel, or the program around it, did what a GPU does not allow. what() says which launch, which threads
/// and why.
class Violation : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// "kernels/cuda/add.cu:31 (void brightnet::cuda::add(...))".
std::string describe(const Where& where);

/// Runs thread() for every thread of every block of a launch; the order of both comes from the seed. Throws
/// the first Violation, with `launch` in front of it.
void run_blocks(const LaunchSize& size, uint64_t seed, const std::string& launch,
                const std::function<void()>& thread);

/// Ends the running thread's launch with a Violation.
[[noreturn]] void violate(const std::string& why);

/// Of every access that the compiler reports, plain dereferences too: in device or shared memory it must be aligned, and
/// lie within one allocation or variable. Other memory is the thread's own.
void check_plain_access(const void* address, size_t bytes, size_t alignment);

/// True while a thread of a kernel runs.
bool in_kernel();
/// Whether the bytes are the running block's shared memory, and which variable's end they pass otherwise.
bool is_shared(const void* address, size_t bytes);

}  // namespace brightnet::emulation
