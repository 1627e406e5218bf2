// What a run's report says about its data, model and machine.
#pragma once

#include "layers/parameters.h"
#include "train/loop/memory.h"
#include "train/loop/training_setup.h"
#include "train/run/run_page.h"

namespace brightnet {

RunDescription describe_run(const TrainingSetup& setup, const ParameterLayout& layout,
                            const RunMemory& memory);

}  // namespace brightnet
