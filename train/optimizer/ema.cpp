#include "train/optimizer/ema.h"

namespace brightnet {

void EmaOptions::fields(Fields& f) {
  f("decay", decay, "of the averaged weights; 0: no average").at_least(0).at_most(0.999999);
  f("ramp", ramp, "iterations over which the decay grows").at_least(0);
}

size_t average_bytes(const EmaOptions& options, const ParameterLayout& layout) {
  return options.decay > 0 ? layout.floats() * sizeof(float) : 0;
}

}  // namespace brightnet
