// Streams, events and graphs of the emulated GPU. What is queued runs as late as it may: when somebody waits
// for it. So a host that reads a result too early, or changes memory that a copy has still to read, finds
// that out in a test. Now and then (by the seed) a stream gets ahead, so that what two streams do in no order
// is seen in several.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <cuda_runtime.h>

namespace brightnet::emulation {

using Work = std::function<void()>;

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
