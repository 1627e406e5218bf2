// Threads that prepare batches in advance, item by item, in a ring of slots; one consumer takes them
// in order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

namespace brightnet {

/// The workers share the items of a batch, so the first batch is ready as early as possible. Which worker
/// makes an item depends on timing; an item must therefore depend only on its batch and number.
class BatchQueue {
 public:
  struct Work {
    uint64_t batches = std::numeric_limits<uint64_t>::max();
    /// Prepares a slot for a batch and returns its number of items; 0 when there is no such batch, and none
    /// after it. Called once per batch, in order, never concurrently.
    std::function<int(uint64_t batch, int slot)> open;
    /// Makes one item. Called concurrently by the workers.
    std::function<void(int slot, int item, int worker)> make;
  };

  /// Starts the workers. Without any (0), next() makes each batch itself, as worker 0. Throws std::system_error when the
  /// machine has no more threads.
  BatchQueue(Work work, int slots, int workers);
  /// Waits for the items in progress and drops the rest.
  ~BatchQueue();
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  /// The slot of the next batch, or -1 after the last. Valid until the next call. When items
  /// failed, this and all later calls rethrow the exception of the batch's first failed item.
  int next();

  /// The queue now has this many batches, and what open() says about some of them has changed: calls
  /// `change` while no batch is being opened, with the first batch that was not yet delivered and the number
  /// of batches opened. If it returns true, the batches in this range are dropped and made again. To be
  /// called by the consumer, whose current batch stays valid.
  void revise(uint64_t batches, const std::function<bool(uint64_t first, uint64_t opened)>& change);

  /// Seconds next() took until it had a batch.
  double waited_seconds() const { return waited_; }

 private:
  struct Slot {
    int items = 0;      // items of the batch in this slot
    int remaining = 0;  // items that are not made yet
    int failed_item = std::numeric_limits<int>::max();
    std::exception_ptr error;
  };

  BatchQueue(Work work, int slots);  // without a worker
  int slot_of(uint64_t batch) const { return static_cast<int>(batch % slots_.size()); }
  bool can_open() const {
    return !opening_ && !revising_ && opened_ < work_.batches && opened_ < released_ + slots_.size();
  }
  bool has_items() const { return !revising_ && opened_ > 0 && next_item_ < slots_[current_slot_].items; }
  void open_batch(std::unique_lock<std::mutex>& lock);
  void make_item(std::unique_lock<std::mutex>& lock, int worker);
  void run(int worker);

  Work work_;
  std::vector<Slot> slots_;
  std::mutex mutex_;  // guards everything below but waited_, and the slots
  std::condition_variable work_there_, batch_there_, idle_;
  uint64_t opened_ = 0;     // batches whose items have been given out, at least in part
  uint64_t released_ = 0;   // batches that the consumer is done with
  uint64_t delivered_ = 0;  // batches that the consumer got
  int current_slot_ = 0, next_item_ = 0;
  int making_ = 0;         // items that workers are making now
  bool revising_ = false;  // no batch is opened and no item begun
  bool opening_ = false;   // a worker opens a batch, without the lock: it may block on a camera
  bool stop_ = false;
  double waited_ = 0;  // used by the consumer only
  std::vector<std::thread> threads_;
};

}  // namespace brightnet
