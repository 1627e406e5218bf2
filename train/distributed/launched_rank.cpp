#include "train/distributed/launched_rank.h"

#include <cstdlib>
#include <initializer_list>
#include <string>

#include "core/error.h"

namespace brightnet {
namespace {

int number(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : 0;
}

/// The rank as a launcher of MPI describes it.
LaunchedRank rank_of_mpi() {
  // Open MPI's mpirun, and launchers of the PMI family.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (std::getenv(name)) return {number(name) > 1, number(name)};
  }
  // srun. SLURM_NTASKS would not do: it is also set in the batch script itself.
  if (std::getenv("SLURM_STEP_ID") && std::getenv("SLURM_STEP_NUM_TASKS")) {
    return {number("SLURM_STEP_NUM_TASKS") > 1, number("SLURM_STEP_NUM_TASKS")};
  }
  return {std::getenv("PMIX_RANK") != nullptr, 0};
}

}  // namespace

LaunchedRank launched_rank() {
  const LaunchedRank rank = rank_of_mpi();
  // WORLD_SIZE alone may be a setting of the whole job.
  const int others = std::getenv("LOCAL_RANK") ? number("WORLD_SIZE") : 0;
  if (rank.is_rank || others < 2) return rank;
  throw InputError(
      "this is one of " + std::to_string(others) +
          " processes that torchrun or the like has started (WORLD_SIZE, LOCAL_RANK), which are no "
          "ranks of MPI: each would work alone",
      "",
      "Start one command with --ranks N, or the ranks by mpirun or srun (docs/distributed.md); to work "
      "alone, unset LOCAL_RANK.");
}

}  // namespace brightnet
