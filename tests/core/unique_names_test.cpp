#include "core/unique_names.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(UniqueNames, NumberWhatWasThereBefore) {
  UniqueNames names;
  EXPECT_EQ(names.of("dog"), "dog");
  EXPECT_EQ(names.of("dog"), "dog_2");
  EXPECT_EQ(names.of("dog_3"), "dog_3");
  EXPECT_EQ(names.of("dog"), "dog_4");
  EXPECT_EQ(names.of("dog_2"), "dog_2_2");
}

TEST(UniqueNames, PassOverThoseThatDoNotSuit) {
  UniqueNames names;
  const auto suits = [](const std::string& name) { return name != "dog" && name != "dog_3"; };
  EXPECT_EQ(names.of("dog", suits), "dog_2");
  EXPECT_EQ(names.of("dog", suits), "dog_4");
}

}  // namespace
}  // namespace brightnet
