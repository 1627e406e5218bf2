// A network as darknet saves it: .cfg, .weights and .names together hold what brightnet keeps in one file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/formats/darknet/weights.h"
#include "train/formats/weights.h"

namespace brightnet {

struct DarknetFilesToRead {
  std::filesystem::path cfg, weights;
  /// A file with a class's name on each line, or an obj.data that points at one; empty: the classes
  /// are numbered.
  std::filesystem::path names;
  bool partial = false;  ///< as in DarknetWeightsOptions
};

/// A trained network, and what was read of its values.
struct DarknetTrained {
  TrainedModel trained;  ///< with darknet's resize
  DarknetWeightsReport report;
};

/// Throws InputError for what cannot be imported, and when the numbers of names and classes differ.
/// Parameters that are not in the .weights (see the report) are initialised as for training.
DarknetTrained read_darknet_trained(const DarknetFilesToRead& files);

/// The names of classes in a .names or obj.data file.
std::vector<std::string> read_darknet_names(const std::filesystem::path& file);

}  // namespace brightnet
