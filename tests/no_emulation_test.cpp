// What stands in for the emulated tests where they cannot be compiled.
#include <gtest/gtest.h>

TEST(CudaEmulation, RunsTheCudaBackend) {
  GTEST_SKIP() << BRIGHTNET_NO_EMULATION;
}
