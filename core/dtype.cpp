#include "core/dtype.h"

#include <array>

#include "core/error.h"

namespace brightnet {

std::string_view to_string(DType type) {
  constexpr std::array<std::string_view, 4> names{"f32", "bf16", "f16", "u8"};
  return names[static_cast<size_t>(type)];
}

namespace {
constexpr std::array<std::string_view, 4> precision_names{"fp32", "tf32", "bf16", "fp16"};
}

std::string_view to_string(Precision precision) {
  return precision_names[static_cast<size_t>(precision)];
}

Precision parse_precision(std::string_view name) {
  for (size_t i = 0; i < precision_names.size(); ++i) {
    if (precision_names[i] == name) return static_cast<Precision>(i);
  }
  throw InputError("unknown precision '" + std::string(name) + "'", "", "Use fp32, tf32, bf16 or fp16.");
}

}  // namespace brightnet
