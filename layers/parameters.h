// All parameters of a model in one flat fp32 array, so that an optimizer step, an all-reduce, an average or a
// checkpoint is one pass over memory. Trainable parameters come first, running statistics after them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "layers/model/model.h"

namespace brightnet {

struct ParameterEntry {
  std::string name;            ///< "stage1.in.weight"
  std::vector<int64_t> shape;  ///< convolution weights are OHWI
  ParameterKind kind = ParameterKind::weight;
  int layer = 0;
  float rate = 1;           ///< the layer's factor on the learning rate; 0 when frozen
  bool pretrained = false;  ///< the layer's LayerDescription::pretrained
  size_t offset = 0;        ///< offset in the flat array in floats, a multiple of 16
  size_t count = 0;
};

/// The offset of each parameter of a model in the flat array. Needs no device.
class ParameterLayout {
 public:
  ParameterLayout() = default;
  explicit ParameterLayout(const Model& model);

  const std::vector<ParameterEntry>& entries() const { return entries_; }
  /// Finds a parameter by its name; nullptr when there is none.
  const ParameterEntry* find(const std::string& name) const;
  /// Whether a layer has parameters that gradients change.
  bool has_trainable(int layer) const;
  /// Floats of the trainable part, and of everything including running statistics; both with padding.
  size_t trainable_floats() const { return trainable_; }
  size_t floats() const { return total_; }
  /// Trainable numbers without padding: the count that papers quote (statistics excluded).
  size_t trainable_parameters() const;

 private:
  std::vector<ParameterEntry> entries_;
  size_t trainable_ = 0, total_ = 0;
};

/// Parameters in device memory, as used by a network. `version` changes whenever the values do, so that a
/// network knows when to update its working weights.
struct Parameters {
  const ParameterLayout* layout = nullptr;
  float* values = nullptr;     ///< [layout.floats()]
  float* gradients = nullptr;  ///< [layout.trainable_floats()], or nullptr for inference
  uint64_t version = 1;
};

/// An array of the saved state that a resumed run restores.
struct StateArray {
  std::string name;
  float* values = nullptr;  ///< values in the device's memory
  size_t count = 0;
};

/// Device memory that is released when it goes out of scope.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(Backend& backend, size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;

  void* data() const { return data_; }
  float* floats() const { return static_cast<float*>(data_); }
  size_t bytes() const { return bytes_; }

 private:
  Backend* backend_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

/// Initial parameters on the host: He-normal weights, unit scales, and head biases at a prior objectness and
/// class probability so that the first steps are not spent on unlearning "object everywhere".
std::vector<float> initial_parameters(const Model& model, const ParameterLayout& layout, uint64_t seed);

}  // namespace brightnet
