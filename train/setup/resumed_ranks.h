// A run that is resumed by another number of ranks.
#pragma once

#include "train/distributed/communicator.h"

namespace brightnet {

struct Preparation;

/// The ranks of a run that is resumed when its state was saved, and the images of one pass of each.
struct RanksBefore {
  int ranks = 0, micro_batch = 0;
};

/// Reads `before` of a run that is resumed.
void read_ranks_before(Preparation& run, const Communicator& ranks);

/// With train.sync_bn and no other wish, the micro-batch of a run that is resumed becomes the one with which batch-norm
/// computes its statistics from as many images as before, as far as there are divisors and memory for it.
void keep_statistics(Preparation& run, const Communicator& ranks);

/// Says, after compare_ranks(), that the run has another number of ranks, and warns where batch-norm's statistics are of more
/// or fewer images than before.
void remark_on_ranks(const Preparation& run, const Communicator& ranks);

}  // namespace brightnet
