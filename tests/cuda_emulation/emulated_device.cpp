#include "tests/cuda_emulation/emulated_device.h"

#include "tests/kernels/device.h"

namespace brightnet::testing {

const TestedDevice& tested_device() {
  static const auto backend = make_emulated_backend();
  static constexpr DType types[] = {DType::f32, DType::bf16, DType::f16};
  static const TestedDevice device{*backend, types, 1e-6};
  return device;
}

}  // namespace brightnet::testing
