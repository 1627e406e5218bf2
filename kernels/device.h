// Device: the memory that tensors lie in, the ways into and out of it, and the order that work is done in.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace brightnet {

/// A variable of the device that the host follows without waiting for it: while the device computes one step,
/// the host sees the value after the step before.
class Readback {
 public:
  virtual ~Readback() = default;
  /// Queues a copy after all work queued so far.
  virtual void request(const void* device) = 0;
  /// The newest copy that the device has surely made by now: the last one where operations are done
  /// at once, else the last but one, which this waits for. nullptr while there is none. Valid until
  /// the next request().
  virtual const void* value() = 0;
};

/// Operations that were queued once and can be queued again as a whole.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void replay() = 0;
};

/// Adds up how long a device works on what is queued between begin() and end(). Neither waits.
class WorkClock {
 public:
  virtual ~WorkClock() = default;
  virtual void begin() = 0;
  virtual void end() = 0;
  /// Of all stretches that are done by now.
  virtual double seconds() = 0;
};

/// Work is queued in order; only download(), synchronize(), finish_uploads() and Readback::value()
/// wait for it.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  /// Whether operations are queued and done later, beside the host; else each is done when
  /// its function returns.
  virtual bool works_beside_host() const = 0;
  /// Where operations are queued, for a library that queues its own among them: a cudaStream_t. nullptr where memory is
  /// the host's.
  virtual void* native_stream() const { return nullptr; }

  // Memory.
  /// At least 64-byte aligned. Throws a DeviceError when there is not enough.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory, size_t bytes) = 0;
  /// Bytes that allocate() can still give.
  virtual size_t free_bytes() const = 0;
  /// Bytes that are allocated now, and the most since the start.
  size_t allocated_bytes() const { return allocated_; }
  size_t peak_bytes() const { return peak_; }
  /// The host's memory may change as soon as this returns.
  virtual void upload(void* device, const void* host, size_t bytes) = 0;
  virtual void download(void* host, const void* device, size_t bytes) = 0;
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  virtual void zero(void* memory, size_t bytes) = 0;
  virtual void synchronize() = 0;
  /// For variables of this many bytes.
  virtual std::unique_ptr<Readback> make_readback(size_t bytes) = 0;

  // Uploads of batches, concurrent with the queued work.
  /// Host memory for upload_ahead(): page-locked for a GPU. Any thread may ask for it.
  virtual void* allocate_host(size_t bytes) = 0;
  virtual void release_host(void* memory) = 0;
  /// Like upload(), of memory from allocate_host(), which stays as it is until finish_uploads(). It does not
  /// wait for work queued since the last upload_ahead(): with double buffering one buffer can be
  /// filled while the other is read.
  virtual void upload_ahead(void* device, const void* host, size_t bytes) = 0;
  /// Waits until all uploads ahead are done, and for nothing else.
  virtual void finish_uploads() = 0;
  /// Later uploads ahead wait for everything that is queued by now.
  virtual void hold_uploads() = 0;

  // Work as a whole.
  /// Records the operations that `work` queues, without doing them; nullptr where nothing is won by it. They
  /// must not wait for anything, and everything they name must stay where it is.
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
