// What a layer keeps in the network's memory. It lists it once, in Layer::memory(): the plan counts the list, and binding
// places what is listed.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/alignment.h"
#include "core/tensor.h"

namespace brightnet {

/// Bytes of memory that a layer needs, by lifetime.
struct MemoryNeeds {
  size_t weights = 0;    ///< working copies of parameters, kept as long as the network
  size_t saved = 0;      ///< kept from the layer's forward to its backward pass
  size_t workspace = 0;  ///< used within one call; the least that the layer runs with
  /// The largest workspace that can make the layer faster. The layer gets what the step's tensors leave free
  /// in its calls.
  size_t most_workspace = 0;
  size_t tensors = 0;    ///< part of the workspace before the part that can be larger
  size_t preparing = 0;  ///< used within prepare(), in the memory of the step's tensors, which is free then
  /// Kept from the layer's backward pass until the network has converted
  /// ConvolutionLayer::append_rounded_gradients().
  size_t rounded_gradient = 0;
};

/// The addresses of a layer's memory: nullptr while it is planned.
struct LayerMemory {
  void *weights = nullptr, *saved = nullptr, *workspace = nullptr, *preparing = nullptr,
       *rounded_gradient = nullptr;
  size_t workspace_bytes = 0;  ///< size of `workspace`, at least MemoryNeeds::workspace
};

/// Counts what is listed, and sets the pointer to each piece. The pieces of one lifetime follow each other.
class MemoryList {
 public:
  MemoryList() = default;
  explicit MemoryList(const LayerMemory& memory) : memory_(memory) {}

  template <typename T>
  void weights(T*& place, size_t bytes) {
    add(place, bytes, memory_.weights, needs_.weights);
  }
  template <typename T>
  void saved(T*& place, size_t bytes) {
    add(place, bytes, memory_.saved, needs_.saved);
  }
  void saved(Tensor& tensor) { saved(tensor.data, tensor.bytes()); }
  template <typename T>
  void workspace(T*& place, size_t bytes) {
    add(place, aligned(bytes, device_alignment), memory_.workspace, needs_.workspace);
  }
  void workspace(Tensor& tensor) { workspace(tensor.data, tensor.bytes()); }
  /// The rest of the workspace, of which `bytes` says how much there is: from `least` to `most`. Listed last.
  template <typename T>
  void rest_of_workspace(T*& place, size_t& bytes, size_t least, size_t most) {
    needs_.tensors = needs_.workspace;
    needs_.most_workspace = needs_.tensors + std::max(least, most);
    bytes = std::clamp(memory_.workspace_bytes - std::min(memory_.workspace_bytes, needs_.tensors), least,
                       std::max(least, most));
    add(place, least, memory_.workspace, needs_.workspace);
  }
  template <typename T>
  void preparing(T*& place, size_t bytes) {
    add(place, bytes, memory_.preparing, needs_.preparing);
  }
  template <typename T>
  void rounded_gradient(T*& place, size_t bytes) {
    add(place, bytes, memory_.rounded_gradient, needs_.rounded_gradient);
  }

  const MemoryNeeds& needs() const { return needs_; }

 private:
  template <typename T>
  static void add(T*& place, size_t bytes, void* begin, size_t& used) {
    place = begin ? static_cast<T*>(static_cast<void*>(static_cast<std::byte*>(begin) + used)) : nullptr;
    used += aligned(bytes);
  }

  const LayerMemory memory_;
  MemoryNeeds needs_;
};

}  // namespace brightnet
