#include "core/require_memory.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace brightnet {
namespace {

TEST(RequireMemory, SaysWhatIsWantedWhatThereIsAndWhatToDo) {
  bool asked = false;
  const auto remedy = [&] {
    asked = true;
    return std::string("Take less.");
  };
  EXPECT_NO_THROW(require_memory("a batch", 1024, {"cuda:0", 1024}, remedy));
  EXPECT_FALSE(asked);
  try {
    require_memory("a batch", 3 << 10, {"cuda:0", 2 << 10, "may be used"}, remedy);
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "there is not enough memory on cuda:0: a batch takes 3.00 KiB, and 2.00 KiB may be used. Take less.");
    EXPECT_EQ(error.code(), ExitCode::input);
  }
  EXPECT_THROW(require_memory("all", SIZE_MAX, free_memory_of_host(), remedy), InputError);
}

}  // namespace
}  // namespace brightnet
