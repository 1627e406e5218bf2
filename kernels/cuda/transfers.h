// Copies between host and device that overlap with other work.
#pragma once

#include <array>
#include <functional>
#include <memory>

#include "kernels/cuda/runtime.h"
#include "kernels/device.h"

namespace brightnet::cuda {

/// A ring of page-locked staging buffers for pageable memory: an upload returns once the bytes are in the
/// ring, before the device has copied them.
class StagingRing {
 public:
  StagingRing();
  void upload(void* device, const void* host, size_t bytes, const Stream& stream);
  /// Waits for the stream.
  void download(void* host, const void* device, size_t bytes, const Stream& stream);

 private:
  static constexpr size_t slots = 16, slot_bytes = size_t{256} << 10;
  std::byte* slot(size_t index) const { return memory_.as<std::byte>() + index * slot_bytes; }

  PinnedMemory memory_;
  std::array<Event, slots> copied_;
  size_t next_ = 0;
};

/// Uploads through a separate stream, concurrent with the work; see Device::upload_ahead().
class UploadsAhead {
 public:
  /// `then` queues what is done with the bytes before work that is queued later.
  void upload(void* device, const void* host, size_t bytes, const Stream& work,
              const std::function<void(const Stream&)>& then = {});
  void finish() const { copied_.synchronize(); }
  void hold(const Stream& work);

 private:
  Stream stream_;
  Event queued_[2], held_, copied_, ready_;
  size_t uploads_ = 0;
};

/// Alternates between two copies in page-locked memory; see Readback.
std::unique_ptr<Readback> make_readback(size_t bytes, const Stream& stream);

/// Uses timed events around each interval of work.
std::unique_ptr<WorkClock> make_work_clock(const Stream& stream);

}  // namespace brightnet::cuda
