#include "train/distributed/launched_rank.h"

#include <cstdlib>
#include <initializer_list>

namespace brightnet {
namespace {

int number(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : 0;
}

}  // namespace

LaunchedRank launched_rank() {
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

}  // namespace brightnet
