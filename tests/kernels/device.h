// The device under test, with tensors and arrays in its memory. Tensors are filled with NaN until written, so
// that an element that an operation forgot shows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/random.h"
#include "kernels/backend.h"
#include "tests/kernels/half.h"

namespace brightnet::testing {

/// Each program of operation tests is linked with one definition of this: the CPU (cpu_device.cpp), the
/// emulated GPU (tests/cuda_emulation/emulated_device.cpp) or a real one (tests/gpu/gpu_device.cpp).
struct TestedDevice {
  Backend& backend;
  std::span<const DType> compute_types;  ///< that it computes in
  /// Relative error of its exponentials and divisions, which the formulas are made of.
  double formula_error;
};
const TestedDevice& tested_device();

inline Backend& device() {
  return tested_device().backend;
}

/// Relative error of one rounding to the type (half a unit in the last place).
inline double rounding(DType type) {
  return type == DType::bf16 ? 1.0 / 256 : type == DType::f16 ? 1.0 / 2048 : 1.0 / (1 << 24);
}

/// The number that an element of the type becomes.
inline float rounded(float value, DType type) {
  if (type == DType::bf16) return static_cast<float>(BFloat16(value));
  return type == DType::f16 ? half_value(half_bits(value)) : value;
}

/// A tensor and its memory, offset by one element from an aligned address when `misaligned`: operations may
/// rely on the alignment of an element only. The host keeps a copy, which is uploaded before an operation
/// gets the tensor and downloaded when it is read afterwards.
class OwnedTensor {
 public:
  explicit OwnedTensor(const Shape& shape, DType type = DType::f32, bool misaligned = false)
      : host_(shape.count() * size_of(type)), allocated_(host_.size() + size_of(type)) {
    memory_ = device().allocate(allocated_);
    tensor_.data = static_cast<std::byte*>(memory_) + (misaligned ? size_of(type) : 0);
    tensor_.shape = shape;
    tensor_.type = type;
    fill(std::numeric_limits<double>::quiet_NaN());
  }
  ~OwnedTensor() {
    if (memory_) device().release(memory_, allocated_);
  }
  OwnedTensor(const OwnedTensor&) = delete;
  OwnedTensor& operator=(const OwnedTensor&) = delete;
  OwnedTensor(OwnedTensor&& other) noexcept
      : host_(std::move(other.host_)),
        allocated_(other.allocated_),
        memory_(std::exchange(other.memory_, nullptr)),
        tensor_(other.tensor_),
        newest_(other.newest_) {}

  /// For an operation.
  const Tensor& operator*() const {
    if (newest_ == Copy::host) device().upload(tensor_.data, host_.data(), host_.size());
    newest_ = Copy::device;
    return tensor_;
  }
  float* floats() const { return (**this).as<float>(); }
  size_t count() const { return tensor_.count(); }
  const Shape& shape() const { return tensor_.shape; }
  DType type() const { return tensor_.type; }

  double operator[](size_t i) const {
    bring_to_host();
    if (type() == DType::f32) return at<float>(i);
    if (type() == DType::u8) return at<uint8_t>(i);
    return type() == DType::bf16 ? static_cast<float>(at<BFloat16>(i)) : half_value(at<uint16_t>(i));
  }
  void set(size_t i, double value) {
    const float narrow = static_cast<float>(value);
    if (type() == DType::f32) return put(i, narrow);
    if (type() == DType::u8) return put(i, std::isnan(value) ? uint8_t{255} : static_cast<uint8_t>(value));
    if (type() == DType::bf16) return put(i, BFloat16(narrow));
    put(i, half_bits(narrow));
  }
  /// The element's bits.
  template <typename T>
  void put(size_t i, T value) {
    bring_to_host();
    std::memcpy(host_.data() + i * sizeof(T), &value, sizeof(T));
    newest_ = Copy::host;
  }

  OwnedTensor& fill(double value) {
    for (size_t i = 0; i < count(); ++i) set(i, value);
    return *this;
  }
  template <typename Number>
  OwnedTensor& set(const std::vector<Number>& values) {
    for (size_t i = 0; i < count(); ++i) set(i, static_cast<double>(values[i]));
    return *this;
  }
  /// Normal numbers, rounded to the type.
  OwnedTensor& randomize(uint64_t stream, float scale = 1, float offset = 0) {
    Random random(2024, Purpose::test, 0, stream);
    for (size_t i = 0; i < count(); ++i) set(i, scale * random.normal() + offset);
    return *this;
  }
  std::vector<double> values() const {
    std::vector<double> result(count());
    for (size_t i = 0; i < count(); ++i) result[i] = (*this)[i];
    return result;
  }

 private:
  enum class Copy : uint8_t { host, device, both };

  void bring_to_host() const {
    if (newest_ == Copy::device) {
      device().download(host_.data(), tensor_.data, host_.size());
      newest_ = Copy::both;
    }
  }
  template <typename T>
  T at(size_t i) const {
    T value;
    std::memcpy(&value, host_.data() + i * sizeof(T), sizeof(T));
    return value;
  }

  mutable std::vector<std::byte> host_;
  size_t allocated_;
  void* memory_ = nullptr;
  Tensor tensor_;
  mutable Copy newest_ = Copy::host;
};

/// Values of any type in the device's memory, of just their size.
template <typename T>
class OwnedArray {
 public:
  /// Undefined contents.
  explicit OwnedArray(size_t count) : count_(count), data_(static_cast<T*>(device().allocate(room()))) {}
  explicit OwnedArray(const std::vector<T>& values) : OwnedArray(values.size()) { set(values); }
  ~OwnedArray() { device().release(data_, room()); }
  OwnedArray(const OwnedArray&) = delete;
  OwnedArray& operator=(const OwnedArray&) = delete;

  T* data() const { return data_; }
  operator T*() const { return data_; }
  void set(const std::vector<T>& values) const {
    if (count_ > 0) device().upload(data_, values.data(), count_ * sizeof(T));
  }
  std::vector<T> get() const {
    std::vector<T> values(count_);
    if (count_ > 0) device().download(values.data(), data_, count_ * sizeof(T));
    return values;
  }

 private:
  size_t room() const { return std::max<size_t>(1, count_) * sizeof(T); }

  size_t count_;
  T* data_;
};

/// Standard normal numbers times `scale` plus `offset`, on the host.
inline std::vector<float> random_values(size_t count, uint64_t seed, float scale = 1, float offset = 0) {
  Random random(seed, Purpose::test);
  std::vector<float> values(count);
  for (float& value : values) value = scale * random.normal() + offset;
  return values;
}

/// √(Σ(a − b)² / Σb²): the error of the whole, relative to the expected values' size.
template <typename A, typename B>
double relative_error(const A& actual, const B& expected) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference += std::pow(static_cast<double>(actual[i]) - static_cast<double>(expected[i]), 2);
    size += std::pow(static_cast<double>(expected[i]), 2);
  }
  return std::sqrt(difference / std::max(size, 1e-30));
}

}  // namespace brightnet::testing
