// Starts real ranks, by mpirun or by `--ranks`, and finds their processes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/end_to_end/program.h"

namespace brightnet::testing {

/// What containers, two cores and many ranks need of MPI and OpenMP. Call it before any rank is started.
inline void prepare_for_ranks() {
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  ::setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
  ::setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
  ::setenv("OMP_NUM_THREADS", "1", 1);
  // Waiting ranks spin otherwise: two jobs of two ranks, side by side on two cores, kept each other from
  // their work until train.comm_timeout.
  ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", 1);
  // MPI keeps what it allocated until the process ends.
  ::setenv("ASAN_OPTIONS", "detect_leaks=0", 0);
}

using Words = std::vector<std::string>;

/// mpirun -np `ranks` `words`.
inline Words mpirun(int ranks, const Words& words) {
  Words all{"mpirun", "--quiet", "-np", std::to_string(ranks)};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

/// mpirun with a command of its own for each rank.
inline Words mpirun_each(const std::vector<Words>& of_rank) {
  Words all{"mpirun", "--quiet"};
  for (const auto& words : of_rank) {
    if (all.size() > 2) all.emplace_back(":");
    all.insert(all.end(), {"-np", "1"});
    all.insert(all.end(), words.begin(), words.end());
  }
  return all;
}

/// The brightnet processes below `ancestor` that are ranks, by rank.
inline std::map<int, pid_t> ranks_below(pid_t ancestor) {
  std::map<pid_t, pid_t> parents;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (!std::all_of(name.begin(), name.end(), ::isdigit)) continue;
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const size_t after_name = stat.rfind(')');
    if (after_name == std::string::npos) continue;
    parents[std::stoi(name)] = std::stoi(stat.substr(after_name + 4));
  }
  std::map<int, pid_t> ranks;
  for (const auto& [process, parent] : parents) {
    pid_t above = parent;
    while (above > 1 && above != ancestor) above = parents.count(above) ? parents[above] : 0;
    if (above != ancestor) continue;
    std::ifstream file("/proc/" + std::to_string(process) + "/environ", std::ios::binary);
    for (std::string variable; std::getline(file, variable, '\0');) {
      if (variable.rfind("OMPI_COMM_WORLD_RANK=", 0) == 0) ranks[std::stoi(variable.substr(21))] = process;
    }
  }
  return ranks;
}

/// Waits until `there` or two minutes have passed; whether it came.
template <typename There>
bool wait_until(There&& there) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (std::chrono::steady_clock::now() < end) {
    if (there()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

}  // namespace brightnet::testing
