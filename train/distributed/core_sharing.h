// How the ranks of a machine divide its cores.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace brightnet {

/// The machine and the set of processors that this process may use, as one text; where a control group's quota grants less
/// than these, the quota, which all ranks of the group share. `root` is the file system's root.
std::string own_processors(const std::filesystem::path& root = "/");

/// How many ranks, this one among them, may use the same processors as `rank`; `processors`: own_processors() of each. Ranks
/// that a launcher has bound to cores of their own share them with none. Those that a batch system, a container or a
/// launcher has confined to some cores of the machine share these.
int ranks_sharing_cores(const std::vector<std::string>& processors, int rank);

}  // namespace brightnet
