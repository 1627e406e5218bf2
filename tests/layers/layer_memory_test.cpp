// The list of what a layer keeps: counted and placed alike.
#include "layers/layer_memory.h"

#include <vector>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

/// Every kind of piece once, two of some.
struct Kept {
  std::byte *weights = nullptr, *more_weights = nullptr, *preparing = nullptr, *rounded = nullptr,
            *rest = nullptr;
  Tensor saved{nullptr, {1, 3, 5, 7}, DType::u8}, first{nullptr, {2, 3, 5, 7}, DType::f32}, second = first;
  size_t rest_bytes = 0;

  void list(MemoryList& list) {
    list.weights(weights, 100);
    list.weights(more_weights, 10);
    list.saved(saved);
    list.workspace(first);
    list.workspace(second);
    list.preparing(preparing, 1000);
    list.rounded_gradient(rounded, 8);
    list.rest_of_workspace(rest, rest_bytes, 500, 9000);
  }
};

TEST(MemoryList, CountsWhatItPlaces) {
  Kept kept;
  MemoryList counted;
  kept.list(counted);
  EXPECT_EQ(kept.weights, nullptr);
  EXPECT_EQ(kept.first.data, nullptr);
  const MemoryNeeds needs = counted.needs();
  EXPECT_EQ(needs.tensors, 2 * aligned(2 * 3 * 5 * 7 * sizeof(float), device_alignment));
  EXPECT_GE(needs.workspace, needs.tensors + 500);
  EXPECT_EQ(needs.most_workspace, needs.tensors + 9000);

  alignas(device_alignment) std::byte weights[512], saved[512], workspace[8192], preparing[1024], rounded[64];
  MemoryList placed({weights, saved, workspace, preparing, rounded, needs.workspace});
  kept.list(placed);
  EXPECT_EQ(kept.weights, weights);
  EXPECT_GE(kept.more_weights, weights + 100) << "after the piece before it";
  EXPECT_LE(kept.more_weights + 10, weights + needs.weights);
  EXPECT_EQ(kept.saved.data, saved);
  EXPECT_LE(kept.saved.bytes(), needs.saved);
  EXPECT_EQ(kept.first.data, workspace);
  EXPECT_GE(static_cast<std::byte*>(kept.second.data), workspace + kept.first.bytes());
  EXPECT_EQ(kept.rest, workspace + needs.tensors);
  EXPECT_EQ(kept.rounded, rounded);
  EXPECT_EQ(kept.preparing, preparing);
}

TEST(MemoryList, TheRestOfTheWorkspaceIsWhatThereIsUpToTheMost) {
  Kept kept;
  MemoryList counted;
  kept.list(counted);
  const size_t tensors = counted.needs().tensors;
  std::byte memory[64];
  for (const auto& [given, rest] : std::vector<std::pair<size_t, size_t>>{
           {tensors + 500, 500}, {tensors + 4000, 4000}, {tensors + 20000, 9000}}) {
    MemoryList placed({memory, memory, memory, memory, memory, given});
    kept.list(placed);
    EXPECT_EQ(kept.rest_bytes, rest);
  }
}

}  // namespace
}  // namespace brightnet
