// Memory of the emulated GPU for one test of the emulation itself, which brings streams of its own.
#pragma once

#include <vector>

#include "kernels/cuda/vector.h"

namespace brightnet::testing {

template <typename T>
class DeviceArray {
 public:
  /// Undefined contents.
  explicit DeviceArray(size_t count) : count_(count) {
    data_ = static_cast<T*>(cuda::allocate(std::max<size_t>(1, count) * sizeof(T)));
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) { set(values); }
  ~DeviceArray() { cuda::release(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  operator T*() const { return data_; }
  size_t count() const { return count_; }

  void set(const std::vector<T>& values) {
    if (count_ > 0)
      cuda::check(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyDefault), "fill");
  }
  /// The contents after all of the device's work.
  std::vector<T> get() const {
    std::vector<T> values(count_);
    cuda::check(cudaDeviceSynchronize(), "wait");
    if (count_ > 0)
      cuda::check(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDefault), "read");
    return values;
  }

 private:
  T* data_;
  size_t count_;
};

}  // namespace brightnet::testing
