#include "core/option_ranges.h"

#include "core/input_size.h"

namespace brightnet {

void OptionRanges::input_size(int height, int width) const {
  constexpr int largest = InputSizeLimits().high;
  within(0, largest, "height", height);
  within(0, largest, "width", width);
  if ((height == 0) != (width == 0))
    refuse(fmt::format("height is {} and width is {}, and one alone is no size", height, width),
           "Give both, or leave both 0.");
}

}  // namespace brightnet
