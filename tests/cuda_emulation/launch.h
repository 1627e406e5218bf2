// What a test can ask of the emulated launches.
#pragma once

#include <cstddef>

namespace brightnet::emulation {

/// Launches over this much memory run once; smaller ones twice from the same contents with the threads in
/// another order, and a difference in any byte of device memory is a Violation.
constexpr size_t repeated_launch_bytes = size_t{1} << 20;

/// While one lives, launches are repeated however much memory there is: for whole networks.
class EveryOrder {
 public:
  EveryOrder();
  ~EveryOrder();
  EveryOrder(const EveryOrder&) = delete;
  EveryOrder& operator=(const EveryOrder&) = delete;
};

/// While one lives, launches run once: for kernels whose result may depend on the order, such as a list in
/// which every thread takes the next place.
class AnyOrder {
 public:
  AnyOrder();
  ~AnyOrder();
  AnyOrder(const AnyOrder&) = delete;
  AnyOrder& operator=(const AnyOrder&) = delete;
};

}  // namespace brightnet::emulation
