#include "kernels/cuda/transfers.h"

#include <algorithm>
#include <cstring>
#include <deque>

namespace brightnet::cuda {

StagingRing::StagingRing() : memory_(slots * slot_bytes) {}

void StagingRing::upload(void* device, const void* host, size_t bytes, const Stream& stream) {
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min(slot_bytes, bytes - done), index = next_++ % slots;
    copied_[index].synchronize();  // returns at once for an event that was never recorded
    std::memcpy(slot(index), static_cast<const std::byte*>(host) + done, part);
    copy_async(static_cast<std::byte*>(device) + done, slot(index), part, stream);
    copied_[index].record(stream);
    done += part;
  }
}

void StagingRing::download(void* host, const void* device, size_t bytes, const Stream& stream) {
  constexpr size_t all = slots * slot_bytes;
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min(all, bytes - done);
    copy_async(slot(0), static_cast<const std::byte*>(device) + done, part, stream);
    stream.synchronize();
    std::memcpy(static_cast<std::byte*>(host) + done, slot(0), part);
    done += part;
  }
}

// Upload k waits for the work queued before upload k − 1: with double buffering, only that can still read the
// buffer it overwrites.
void UploadsAhead::upload(void* device, const void* host, size_t bytes, const Stream& work,
                          const std::function<void(const Stream&)>& then) {
  held_.hold(stream_);
  queued_[(uploads_ + 1) % 2].hold(stream_);
  copy_async(device, host, bytes, stream_);
  copied_.record(stream_);
  if (then) then(stream_);
  ready_.record(stream_);
  queued_[uploads_ % 2].record(work);
  ready_.hold(work);
  ++uploads_;
}

void UploadsAhead::hold(const Stream& work) {
  held_.record(work);
}

namespace {

class CudaReadback : public Readback {
 public:
  CudaReadback(size_t bytes, const Stream& stream) : stream_(stream), bytes_(bytes) {
    for (auto& copy : copies_) copy = PinnedMemory(bytes);
  }
  // The device may still be writing a copy. Errors are ignored: this also runs during stack unwinding.
  ~CudaReadback() override {
    for (const auto& event : copied_) cudaEventSynchronize(event);
  }

  void request(const void* device) override {
    const size_t index = requests_++ % 2;
    copy_async(copies_[index].data(), device, bytes_, stream_);
    copied_[index].record(stream_);
  }

  const void* value() override {
    if (requests_ < 2) return nullptr;
    const size_t index = requests_ % 2;
    copied_[index].synchronize();
    return copies_[index].data();
  }

 private:
  const Stream& stream_;
  size_t bytes_, requests_ = 0;
  PinnedMemory copies_[2];
  Event copied_[2];
};

class CudaWorkClock : public WorkClock {
 public:
  explicit CudaWorkClock(const Stream& stream) : stream_(stream) {}

  void begin() override {
    collect();
    stretches_.push_back(spare_.empty() ? std::make_unique<Stretch>() : std::move(spare_.back()));
    if (!spare_.empty()) spare_.pop_back();
    stretches_.back()->ended = false;
    stretches_.back()->begin.record(stream_);
  }
  void end() override {
    stretches_.back()->end.record(stream_);
    stretches_.back()->ended = true;
  }
  double seconds() override {
    collect();
    return seconds_;
  }

 private:
  struct Stretch {
    Event begin{Event::Kind::timed}, end{Event::Kind::timed};
    bool ended = false;
  };

  void collect() {
    while (!stretches_.empty() && stretches_.front()->ended && stretches_.front()->end.reached()) {
      seconds_ += 1e-3 * stretches_.front()->end.elapsed_ms(stretches_.front()->begin);
      spare_.push_back(std::move(stretches_.front()));
      stretches_.pop_front();
    }
  }

  const Stream& stream_;
  std::deque<std::unique_ptr<Stretch>> stretches_;
  std::vector<std::unique_ptr<Stretch>> spare_;
  double seconds_ = 0;
};

}  // namespace

std::unique_ptr<Readback> make_readback(size_t bytes, const Stream& stream) {
  return std::make_unique<CudaReadback>(bytes, stream);
}

std::unique_ptr<WorkClock> make_work_clock(const Stream& stream) {
  return std::make_unique<CudaWorkClock>(stream);
}

}  // namespace brightnet::cuda
