// Streams, events and graphs of the emulated GPU. Queued work runs as late as possible, when something waits
// for it, so that tests detect a host that reads a result too early or changes memory that a copy has still
// to read. At random (by the seed) a stream runs ahead, so that unordered work of two streams is seen in
// several orders.
#pragma once

#include <cstdint>
#include <functional>

#include <cuda_runtime.h>

namespace brightnet::emulation {

using Work = std::function<void()>;

/// How many GPUs there are. They are one in everything but this: a kernel goes into a stream of the thread's current one.
constexpr int gpus = 2;
int current_gpu();
/// Of the calling thread.
void set_current_gpu(int gpu);
/// Throws a Violation when the stream was made while another GPU was the thread's current one, where CUDA would refuse
/// `what`.
void require_current_gpu(cudaStream_t stream, const char* what);

/// Queues work in a stream, or records it when the stream is being captured.
void queue_work(cudaStream_t stream, Work work);
/// Runs what is queued in a stream, and what that waits for in others.
void finish(cudaStream_t stream);
void finish_all();
/// Throws a Violation when a stream is being captured: `what` would wait for the GPU or change its memory.
void forbid_in_capture(const char* what);

/// Forgets what is queued, after a Violation.
void abandon_queues();

/// The next number of a sequence that begins with $BRIGHTNET_EMULATION_SEED, or with 1.
uint64_t next_seed();

}  // namespace brightnet::emulation
