#include "tests/kernels/device.h"

namespace brightnet::testing {

const TestedDevice& tested_device() {
  static const auto backend = make_cpu_backend();
  static constexpr DType types[] = {DType::f32, DType::bf16};
  static const TestedDevice device{*backend, types, 1e-6};
  return device;
}

}  // namespace brightnet::testing
