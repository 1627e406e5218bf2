// Metrics as a table for people.
#pragma once

#include <string>

#include "train/evaluate/metrics.h"

namespace brightnet::cli {

/// One line a class and one for all; what is not defined prints as "-".
std::string metrics_table(const Metrics& metrics);

}  // namespace brightnet::cli
