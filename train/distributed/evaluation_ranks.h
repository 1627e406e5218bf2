// Evaluation over the ranks of a run.
#pragma once

#include "detect/evaluate/evaluate.h"
#include "train/distributed/communicator.h"

namespace brightnet {

/// This rank's part of an evaluation in which all ranks take part. The communicator outlives it.
EvaluationRanks evaluation_ranks(Communicator& communicator);

}  // namespace brightnet
