// A network as darknet saves it: .cfg, .weights and .names together hold what brightnet keeps in one file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "formats/darknet/weights.h"
#include "formats/weights.h"

namespace brightnet {

struct DarknetFilesToRead {
  std::filesystem::path cfg, weights;
  /// A file with a class's name on each line, or an obj.data that points at one; empty: `classes`.
  std::filesystem::path names;
  bool partial = false;                   ///< DarknetWeightsOptions::partial
  std::vector<std::string> classes = {};  ///< the names, when there is no such file; empty: they are numbered
  bool may_be_partial = false;            ///< DarknetWeightsOptions::may_be_partial
};

/// A trained network, and what was read of its values.
struct DarknetTrained {
  TrainedModel trained;  ///< the network, with darknet's resize
  DarknetWeightsReport report;
};

/// The heads are made for as many classes as the .weights have, whatever number the .cfg is written for. Throws
/// InputError for what cannot be imported, and when there are names of another number of classes. Parameters that are
/// not in the .weights (see the report) are initialised as for training.
DarknetTrained read_darknet_trained(const DarknetFilesToRead& files);

/// The names of classes in a .names or obj.data file.
std::vector<std::string> read_darknet_names(const std::filesystem::path& file);

}  // namespace brightnet
