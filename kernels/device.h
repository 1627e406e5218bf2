// Device: memory for tensors, transfers, and the order of queued work.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "core/error.h"
#include "core/jpeg_decoder.h"

namespace brightnet {

/// Asynchronous read of a device variable: while the device computes one step, the host sees the value after
/// the previous one.
class Readback {
 public:
  virtual ~Readback() = default;
  /// Queues a copy after all work queued so far.
  virtual void request(const void* device) = 0;
  /// The last copy on a synchronous device, else the last but one, which this waits for; nullptr before there
  /// is one. Valid until the next request().
  virtual const void* value() = 0;
};

/// A captured sequence of operations that can be replayed.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void replay() = 0;
};

/// Adds up the device time of work queued between begin() and end(). Neither synchronizes.
class WorkClock {
 public:
  virtual ~WorkClock() = default;
  virtual void begin() = 0;
  virtual void end() = 0;
  /// Seconds of all intervals finished so far, in total.
  virtual double seconds() = 0;
};

/// Work is queued in order; only download(), synchronize(), finish_uploads() and Readback::value() wait
/// for it.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  /// Whether operations are asynchronous; else each is finished when its function returns.
  virtual bool works_beside_host() const = 0;
  /// The cudaStream_t of operations, for libraries that queue work of their own (NCCL); nullptr on the CPU.
  virtual void* native_stream() const { return nullptr; }

  // Memory.
  /// Allocates memory that is at least 64-byte aligned. Throws an error when there is not enough: an InputError of the
  /// machine's, a DeviceError of a GPU's.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory, size_t bytes) = 0;
  /// Bytes that allocate() can still give.
  virtual size_t free_bytes() const = 0;
  /// Bytes allocated now, and at most since the start.
  size_t allocated_bytes() const { return allocated_; }
  size_t peak_bytes() const { return peak_; }
  /// Copies to the device; the host memory can be reused as soon as this returns.
  virtual void upload(void* device, const void* host, size_t bytes) = 0;
  virtual void download(void* host, const void* device, size_t bytes) = 0;
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  virtual void zero(void* memory, size_t bytes) = 0;
  virtual void synchronize() = 0;
  virtual std::unique_ptr<Readback> make_readback(size_t bytes) = 0;

  // Uploads of batches, concurrent with the queued work.
  /// Host memory for upload_ahead(), page-locked for a GPU. Callable from any thread.
  virtual void* allocate_host(size_t bytes) = 0;
  virtual void release_host(void* memory) = 0;
  /// Uploads from memory of allocate_host(), which must not change until finish_uploads(). Does not wait for
  /// work queued since the last upload_ahead(): with double buffering, one buffer is filled while the other
  /// is read.
  virtual void upload_ahead(void* device, const void* host, size_t bytes) = 0;
  /// Waits for all uploads ahead, and for nothing else.
  virtual void finish_uploads() = 0;
  /// Later uploads ahead wait for everything that is queued by now.
  virtual void hold_uploads() = 0;

  // Decoding of JPEG files.
  /// Why there is no decoder; empty where there is one.
  virtual std::string why_no_jpeg_decoder() const { return "the CPU has none"; }
  /// The memory that a decoder of so many files at a time allocates.
  virtual size_t jpeg_decoder_bytes(int) const { return 0; }
  /// Makes a decoder of so many files at a time. Throws a DeviceError where why_no_jpeg_decoder() has a
  /// reason.
  virtual std::unique_ptr<JpegDecoder> make_jpeg_decoder(int) {
    throw DeviceError("this device decodes no JPEG files", "", "Set loader.decode to cpu.");
  }

  // Capture and timing.
  /// Captures the operations that `work` queues, without running them; nullptr where capture brings nothing
  /// or is not possible. They must not synchronize, and the memory they use must stay in place.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& work) = 0;
  virtual std::unique_ptr<WorkClock> make_work_clock() = 0;

 protected:
  void count_allocation(size_t bytes) {
    allocated_ += bytes;
    peak_ = allocated_ > peak_ ? allocated_ : peak_;
  }
  void count_release(size_t bytes) { allocated_ -= bytes; }

 private:
  size_t allocated_ = 0, peak_ = 0;
};

}  // namespace brightnet
