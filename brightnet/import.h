// darknet's networks as brightnet's.
#pragma once

#include <filesystem>

#include "brightnet/public.h"

namespace brightnet {

struct ImportOptions {
  std::filesystem::path cfg = {};
  std::filesystem::path out = {};  ///< MODEL.yaml; the training configuration is MODEL-train.yaml beside it
  std::filesystem::path weights = {};  ///< the .cfg's .weights, which become MODEL.safetensors; empty: none
  std::filesystem::path names = {};    ///< the classes' names: a .names file or an obj.data
  bool partial = false;                ///< takes weights that have the leading layers alone, too
  bool replace = false;                ///< overwrites existing files, but never those that are read
};

/// Writes the model, the configuration and the weights, and logs what was changed and what is missing. Throws InputError for
/// what cannot be imported, with file, section and line.
BRIGHTNET_PUBLIC void import_network(const ImportOptions& options);

}  // namespace brightnet
