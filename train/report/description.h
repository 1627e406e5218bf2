// What a run's report says about its data, model and machine.
#pragma once

#include "layers/parameters.h"
#include "train/loop/training_setup.h"
#include "train/report/run_page.h"

namespace brightnet {

/// Describes the run, all but the choices. `device_memory`: bytes.
RunDescription describe_run(const TrainingSetup& setup, const ParameterLayout& layout, size_t device_memory);

}  // namespace brightnet
