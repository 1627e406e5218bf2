// Metrics as a text table.
#pragma once

#include <string>

#include "detect/evaluate/metrics.h"

namespace brightnet {

/// One line per class and one for all; undefined values print as "-".
std::string metrics_table(const Metrics& metrics);

}  // namespace brightnet
