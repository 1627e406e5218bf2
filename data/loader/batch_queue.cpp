#include "data/loader/batch_queue.h"

#include "core/clock.h"
#include "core/error.h"

namespace brightnet {

BatchQueue::BatchQueue(Work work, int slots) : work_(std::move(work)), slots_(static_cast<size_t>(slots)) {}

// What the other constructor has made is a whole queue: where a thread cannot be started, its destructor ends the others.
BatchQueue::BatchQueue(Work work, int slots, int workers) : BatchQueue(std::move(work), slots) {
  BRIGHTNET_CHECK(slots > 0 && workers >= 0, "a queue needs a slot");
  threads_.reserve(workers);
  for (int worker = 0; worker < workers; ++worker) threads_.emplace_back(&BatchQueue::run, this, worker);
}

BatchQueue::~BatchQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_there_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void BatchQueue::open_batch(std::unique_lock<std::mutex>& lock) {
  opening_ = true;
  const uint64_t batch = opened_;
  Slot opened;
  lock.unlock();
  try {
    opened.items = opened.remaining = work_.open(batch, slot_of(batch));
  } catch (...) {
    opened.error = std::current_exception();
  }
  lock.lock();
  opening_ = false;
  idle_.notify_one();
  if (opened.items == 0 && !opened.error) {
    work_.batches = batch;
  } else {
    current_slot_ = slot_of(batch);
    slots_[current_slot_] = opened;
    next_item_ = 0;
    ++opened_;
  }
  if (opened.items == 0) batch_there_.notify_one();
}

void BatchQueue::make_item(std::unique_lock<std::mutex>& lock, int worker) {
  const int index = current_slot_, item = next_item_++;
  Slot& slot = slots_[index];
  std::exception_ptr error;
  ++making_;
  lock.unlock();
  try {
    work_.make(index, item, worker);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  --making_;
  idle_.notify_one();
  if (error && item < slot.failed_item) {  // the first by number, not by time
    slot.failed_item = item;
    slot.error = error;
  }
  if (--slot.remaining == 0) batch_there_.notify_one();
}

void BatchQueue::run(int worker) {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_there_.wait(lock, [this] { return stop_ || has_items() || can_open(); });
    if (stop_) return;
    if (!has_items()) {
      open_batch(lock);
      work_there_.notify_all();
      continue;
    }
    make_item(lock, worker);
  }
}

int BatchQueue::next() {
  const double start = seconds_now();
  std::unique_lock lock(mutex_);
  released_ = delivered_;
  work_there_.notify_all();
  if (threads_.empty()) {
    if (opened_ == delivered_ && can_open()) open_batch(lock);
    while (has_items()) make_item(lock, 0);
  }
  Slot& slot = slots_[slot_of(delivered_)];
  const auto at_end = [&] { return delivered_ == work_.batches; };
  batch_there_.wait(lock, [&] { return at_end() || (opened_ > delivered_ && slot.remaining == 0); });
  waited_ += seconds_now() - start;
  if (at_end()) return -1;
  if (slot.error) std::rethrow_exception(slot.error);
  return slot_of(delivered_++);
}

void BatchQueue::revise(uint64_t batches, const std::function<bool(uint64_t, uint64_t)>& change) {
  std::unique_lock lock(mutex_);
  revising_ = true;
  idle_.wait(lock, [this] { return !opening_; });
  work_.batches = batches;
  if (change(delivered_, opened_) && opened_ > delivered_) {
    idle_.wait(lock, [this] { return making_ == 0; });
    opened_ = delivered_;
    next_item_ = slots_[current_slot_].items;  // none is left to make
  }
  revising_ = false;
  work_there_.notify_all();
}

}  // namespace brightnet
