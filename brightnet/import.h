// darknet's networks as brightnet's.
#pragma once

#include <filesystem>

#include "brightnet/public.h"

namespace brightnet {

struct ImportOptions {
  std::filesystem::path cfg = {};
  std::filesystem::path out = {};  ///< MODEL.yaml; the training configuration is MODEL-train.yaml beside it
  std::filesystem::path weights = {};  ///< of that .cfg, which become MODEL.safetensors; empty: none
  std::filesystem::path names = {};    ///< of the classes: a .names file or an obj.data
  bool partial = false;                ///< weights that have the leading layers alone are taken as well
  bool replace = false;                ///< existing files, but never those that are read
};

/// Writes the model, the configuration and the weights, and logs what was changed and what is missing. Throws InputError for
/// what cannot be imported, with file, section and line.
BRIGHTNET_PUBLIC void import_network(const ImportOptions& options);

}  // namespace brightnet
