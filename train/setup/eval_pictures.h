// The pictures of `brightnet eval`, and where they go.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "detect/evaluate/metrics.h"
#include "detect/outputs/written_files.h"
#include "train/report/evaluation_pictures.h"

namespace brightnet {

class EvalPictures {
 public:
  /// Checks on rank 0 (`writes`), before anything is evaluated, that the pictures can be written to the
  /// folder: it replaces only what this command wrote there. Otherwise throws InputError; where the user did
  /// not ask for plots it warns, and nothing is drawn.
  EvalPictures(const std::filesystem::path& folder, bool asked_for, std::string split, const Dataset& dataset,
               bool writes);

  /// Writes on rank 0 alone.
  void write(const Metrics& metrics, const std::string& title);

 private:
  void check_folder();

  std::filesystem::path folder_;
  std::string split_;
  const Dataset& dataset_;
  std::unique_ptr<WrittenFiles> files_;
};

}  // namespace brightnet
