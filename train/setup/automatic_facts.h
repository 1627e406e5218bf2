// The facts that automatic values are chosen from, gathered for a run or for a command that trains nothing.
#pragma once

#include "train/distributed/communicator.h"
#include "train/setup/automatic.h"

namespace brightnet {

/// The device of this rank, in words, and what is the same on all ranks.
struct RankDevice {
  std::string name;
  FastPrecision fast;  ///< fast precision of all ranks' devices; fp32 where they differ
  int threads = 1;     ///< threads that compute on the CPUs, of all ranks together
};

/// Gathers the facts of a run. `model` is the run's; nullptr where none is trained.
RunFacts run_facts(const RunConfig& config, const Model* model, const Dataset& training,
                   const RankDevice& device, const Communicator& ranks);

/// Gives the automatic values of a configuration their values for a command that plans or measures a run
/// without starting it. Its data are read where they are there. Returns the assumption that was made where they
/// are not; otherwise "". Throws InputError for a train.size of `auto` where there are no data.
std::string choose_for_planning(RunConfig& config, const Model& model, const FastPrecision& device);

}  // namespace brightnet
