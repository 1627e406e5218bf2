#include "train/distributed/mpi_collectives.h"

#include <chrono>

#include "core/clock.h"
#include "train/distributed/mpi.h"

namespace brightnet {

MpiCollectives::MpiCollectives(MpiCommunicator& ranks, MPI_Comm channel) : ranks_(ranks), channel_(channel) {
  thread_ = std::thread([this] { reduce_buckets(); });
}

MpiCollectives::~MpiCollectives() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  started_.notify_all();
  thread_.join();
}

int MpiCollectives::parts() const {
  return ranks_.size();
}

int MpiCollectives::part() const {
  return ranks_.rank();
}

void MpiCollectives::sum(double* values, size_t count) {
  const double begin = seconds_now();
  ranks_.all_reduce({values, count});
  waited_ += seconds_now() - begin;
}

void MpiCollectives::start_all_reduce(float* values, size_t count, Reduction reduction) {
  {
    const std::lock_guard lock(mutex_);
    open_.push_back({values, count, reduction});
  }
  started_.notify_one();
}

void MpiCollectives::finish_all_reduces() {
  const double begin = seconds_now();
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return open_.empty(); });
  waited_ += seconds_now() - begin;
}

void MpiCollectives::abandon() {
  constexpr std::chrono::seconds longest{5};
  std::unique_lock lock(mutex_);
  if (open_.size() > 1) open_.resize(1);
  finished_.wait_for(lock, longest, [this] { return open_.empty(); });
}

void MpiCollectives::reduce_buckets() {
  std::unique_lock lock(mutex_);
  for (;;) {
    started_.wait(lock, [this] { return stopping_ || !open_.empty(); });
    if (open_.empty()) return;
    const Bucket bucket = open_.front();
    lock.unlock();
    reduce(bucket);
    lock.lock();
    open_.pop_front();
    if (open_.empty()) finished_.notify_all();
  }
}

void MpiCollectives::reduce(const Bucket& bucket) {
  ranks_.wait_in(Watchdog::buckets, "the sum of a bucket of gradients", [&] {
    return mpi().allreduce(MPI_IN_PLACE, bucket.values, mpi_count(bucket.count), mpi().float_type, mpi().sum,
                           channel_);
  });
  if (divides(bucket.reduction)) {
    const float share = 1.0f / ranks_.size();
    for (size_t i = 0; i < bucket.count; ++i) bucket.values[i] *= share;
  }
}

}  // namespace brightnet
