// oneDNN without memory: its errors, and what keeps it from generating code then.
#include "kernels/cpu/with_memory.h"

#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "kernels/cpu/cpu_backend.h"

namespace brightnet::testing {
namespace {

TEST(WithMemory, WhatOneDnnCannotMakeForWantOfItIsBadAlloc) {
  const auto fail_with = [](dnnl_status_t status) {
    return onednn::with_memory(
        [status]() -> int { throw dnnl::error(status, "could not create a primitive"); });
  };
  EXPECT_THROW(fail_with(dnnl_out_of_memory), std::bad_alloc);
  EXPECT_THROW(fail_with(dnnl_unimplemented), dnnl::error) << "there is memory";
  EXPECT_EQ(onednn::with_memory([] { return 7; }), 7);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose tables need addresses

template <typename Work>
[[noreturn]] void end_after(const Work& work) {
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = 1;
  ::setrlimit(RLIMIT_AS, &limit);
  try {
    work();
  } catch (const std::bad_alloc&) {
    std::_Exit(7);
  } catch (...) {
    std::_Exit(1);
  }
  std::_Exit(0);
}

const ::testing::ExitedWithCode ran_out_of_memory(7);

TEST(WithMemory, NothingIsMadeWithoutAddressSpace) {
  const auto begin_to_make = []() -> int { std::_Exit(2); };
  EXPECT_EXIT(end_after([&] { onednn::with_memory(begin_to_make); }), ran_out_of_memory, "");
}

TEST(WithMemory, AConvolutionIsNotPlannedWithoutIt) {
  ConvolutionSpec spec;
  spec.input = {1, 24, 24, 16};
  spec.output = {1, 24, 24, 32};
  spec.kernel = 3;
  spec.padding = 1;
  spec.training = true;
  cpu::CpuBackend backend;
  EXPECT_EXIT(end_after([&] { backend.plan_convolution(spec); }), ran_out_of_memory, "");
}

#endif

}  // namespace
}  // namespace brightnet::testing
