// Memory of the emulated GPU for one test, of just the size asked for.
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
  /// As it is when all of the device's work is done.
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

/// Rounded to an element type, and back.
template <typename T>
std::vector<T> rounded(const std::vector<float>& values) {
  std::vector<T> result;
  for (const float value : values) result.push_back(cuda::narrow<T>(value));
  return result;
}
template <typename T>
std::vector<float> widened(const std::vector<T>& values) {
  std::vector<float> result;
  for (const T value : values) result.push_back(cuda::widen(value));
  return result;
}

template <typename T>
constexpr DType type_of = std::is_same_v<T, float>        ? DType::f32
                          : std::is_same_v<T, cuda::Half> ? DType::f16
                                                          : DType::bf16;
/// Half a unit in the last place, relative.
template <typename T>
constexpr float rounding_of = std::is_same_v<T, float>        ? 0.0f
                              : std::is_same_v<T, cuda::Half> ? 1.0f / 2048
                                                              : 1.0f / 256;

}  // namespace brightnet::testing
