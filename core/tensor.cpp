#include "core/tensor.h"

namespace brightnet {

std::string to_string(const Shape& shape) {
  return std::to_string(shape.n) + 'x' + std::to_string(shape.h) + 'x' + std::to_string(shape.w) + 'x' +
         std::to_string(shape.c);
}

}  // namespace brightnet
