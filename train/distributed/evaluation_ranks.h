// Evaluation over the ranks of a run.
#pragma once

#include "detect/evaluate/evaluate.h"
#include "train/distributed/communicator.h"

namespace brightnet {

/// This rank's part of an evaluation in which all ranks take part. The communicator outlives it. With `share_errors` an
/// error of one rank is a SharedError of all of them, once each has done its part, so that they can go on together.
/// Otherwise the rank that fails ends the others (Communicator::fail), at once.
EvaluationRanks evaluation_ranks(Communicator& communicator, bool share_errors = false);

}  // namespace brightnet
