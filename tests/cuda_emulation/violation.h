// What the emulation's own tests are written with: launches, and the message of a Violation.
#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "kernels/cuda/runtime.h"
#include "tests/cuda_emulation/block.h"
#include "tests/cuda_emulation/device_array.h"

namespace brightnet::cuda {

using emulation::Violation;
using testing::DeviceArray;

/// The message of the Violation that the action must end with.
template <typename Action>
std::string violation_of(Action&& action) {
  try {
    action();
  } catch (const Violation& violation) {
    return violation.what();
  }
  return "no violation";
}

/// Launches and waits.
template <typename... Parameters, typename... Arguments>
std::string violation_of_launch(void (*kernel)(Parameters...), const Grid& grid, const dim3& block,
                                size_t shared, Arguments... arguments) {
  const Stream stream;
  return violation_of([&] {
    launch(kernel, grid, block, shared, stream, arguments...);
    stream.synchronize();
  });
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << text

inline std::vector<float> first_numbers(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

}  // namespace brightnet::cuda
